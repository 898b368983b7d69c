/* timeline_chart.tsx -- a time line with its legend, and ranges chosen on it
 *
 * A drag chooses a range, a click a band or, where there is none, a moment;
 * what a range means (allocated in, live at, freed in) is said beside the
 * picture.  The same by keys: arrows move a cursor, with Shift they stretch a
 * range, Enter applies it; bands are buttons of the legend. */

import { useMemo, useState } from "preact/hooks";
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { momentText } from "./format";
import { Choice, cutTo } from "./parts";
import type { Params, Range } from "./state";
import { go } from "./state";
import type { Draw, Line, Stack } from "./timeline_lines";
import { DRAWS, STACKS, bandAt, drawOf, drawnText, stackOf, titleOf, wordOf } from
    "./timeline_lines";
import type { Meaning, Room, Span, Spot } from "./timeline_plot";
import { Plot } from "./timeline_plot";
import { Tip } from "./tip";

const MEANINGS = [["alloc", "allocated in"], ["live", "live in"],
                  ["freed", "freed in"]] as const;

/* ---- what is drawn ---------------------------------------------------- */

function Select<T extends string>(props: {
    label: string; name: string; value: T;
    options: readonly (readonly [T, string])[];
}) {
    return <select aria-label={props.label} value={props.value}
        onChange={(e) => go({ [props.name]:
            e.currentTarget.value === props.options[0]?.[0] ? undefined
                : e.currentTarget.value })}>
        {props.options.map(([value, text]) =>
            <option key={value} value={value}>{text}</option>)}
    </select>;
}

export const DrawChoice = (props: { params: Params }) =>
    <Select<Draw> label="Time line of" name="draw"
        value={drawOf(props.params)} options={DRAWS} />;

export const StackChoice = (props: { params: Params }) =>
    <Select<Stack> label="Stacked" name="stack"
        value={stackOf(props.params)} options={STACKS} />;

/* ---- the legend ------------------------------------------------------- */

const narrow = matchMedia("(max-width: 560px)");

const At = (props: { draw: Draw; line: Line; at: number | null }) => {
    const { line, at } = props;
    const n = line.values.length;
    const v = at === null ? undefined : line.values[at === n ? n - 1 : at];
    return <span class="at">{v === undefined || v === null ? ""
        : drawnText(props.draw, v)}</span>;
};

const Swatch = (props: { line: Line }) =>
    <i class={"swatch" + (props.line.isDashed ? " dashed" : "")}
        ref={(e) => {
            const ink = (x: string | undefined) => x === undefined
                ? "transparent" : x.startsWith("--") ? `var(${x})` : x;
            e?.style.setProperty("--ink", ink(props.line.ink));
            e?.style.setProperty("--fill", ink(props.line.fill));
        }} />;

/* A line that may be hidden has a box. */
const Shown = ({ line }: { line: Line }) => line.show
    ? <label><input type="checkbox" checked={!line.isHidden}
        onChange={(e) => line.show?.(e.currentTarget.checked)} />
        <Swatch line={line} />{line.name}</label>
    : <><Swatch line={line} />{line.name}</>;

const LETTERS = 28; /* of a band's name */

/* Bands have many names: they fold. */
function Bands(props: { draw: Draw; lines: Line[]; at: number | null;
                        over: Line | undefined }) {
    const { lines } = props;
    return <details class="bands" open={!narrow.matches}>
        <summary>Bands, from the ground up</summary>
        <ul class="legend">{lines.map((line, i) => {
            const what = <><Swatch line={line} />
                <bdi title={line.title ?? line.name}>
                    {cutTo(line.name, LETTERS)}</bdi></>;
            return <li key={i} class={line === props.over ? "here" : ""}>
                {line.pick ? <button type="button" class="plain"
                    aria-pressed={line.isPicked} onClick={line.pick}>
                    {what}</button> : <span>{what}</span>}
                <At draw={props.draw} line={line} at={props.at} /></li>;
        })}</ul>
    </details>;
}

/* ---- the chart -------------------------------------------------------- */

interface ChartProps {
    id: string; /* of the element that has the keys */
    label?: string;
    draw: Draw;
    lines: Line[];
    step_us: number;
    end_us: number;
    spans: Span[]; /* of the filter */
    onRange: (meaning: Meaning, range: Range) => void;
    onMoment: (us: number) => void;
    high?: number; /* pixels of the picture */
    hasMarks?: boolean; /* those of marks.tsx are drawn */
    isWaiting?: boolean; /* these are the last lines, the next are asked for */
    room?: Room;
    children: ComponentChildren; /* choices */
}

export function Chart(props: ChartProps) {
    const { draw, lines, step_us, end_us } = props;
    const [meaning, mean] = useState<Meaning>("alloc");
    const [under, setUnder] = useState<number | null>(null); /* the pointer */
    const [spot, setSpot] = useState<Spot>();
    const [keys, setKeys] = useState<{ at: number; from: number }>();
    const usOf = (step: number) => Math.floor(step * step_us);
    const spans = useMemo(() => keys && keys.from !== keys.at
        ? [...props.spans, { key: meaning,
                             from: usOf(Math.min(keys.from, keys.at)),
                             to: usOf(Math.max(keys.from, keys.at)) }]
        : props.spans, [props.spans, step_us, keys, meaning]);

    const whole = (us: number) => Math.round(Math.max(0, Math.min(us, end_us)));
    const onRange = (from: number, to: number) =>
        props.onRange(meaning, { from: whole(from), to: whole(to) });
    const onMoment = (us: number) => props.onMoment(whole(us));
    const n = Math.max(...lines.map((l) => l.values.length));
    /* A picture drawn anew has no pointer: what the keys point at stays said. */
    const at = under ?? (keys ? Math.min(keys.at, n - 1) : null);
    const step = Math.floor((spot?.us ?? 0) / step_us);
    const over = spot && bandAt(lines, step, spot.value);
    const momentOf = (step: number) => momentText(step * step_us, step_us);
    const said = at === null ? "" : momentOf(at);
    const onKey = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const now = keys ?? { at: 0, from: 0 };
        const moves: Record<string, number> = {
            ArrowLeft: now.at - 1, ArrowRight: now.at + 1, Home: 0, End: n,
            PageUp: now.at - Math.ceil(n / 10),
            PageDown: now.at + Math.ceil(n / 10),
        };
        const next = moves[e.key];
        if (next !== undefined) {
            const to = Math.max(0, Math.min(n, next));
            setKeys({ at: to, from: e.shiftKey ? now.from : to });
            setUnder(null);
        } else if (e.key === "Enter" && keys) {
            if (keys.from === keys.at) onMoment(usOf(keys.at));
            else onRange(usOf(Math.min(keys.from, keys.at)),
                         usOf(Math.max(keys.from, keys.at)));
            setKeys(undefined);
        } else if (e.key === "Escape" && keys) {
            setKeys(undefined);
        } else {
            return;
        }
        e.preventDefault();
        e.stopPropagation();
    };
    const shown = useMemo(() => lines.filter((l) => !l.isHidden), [lines]);
    const bands = lines.filter((l) => l.isBand);
    const others = lines.filter((l) => !l.isBand);
    return <section class="timeline" aria-label={props.label ?? "Time line"}
        aria-busy={props.isWaiting ?? false}>
        <div class="tools">
            <ul class="legend" aria-label="Lines">
                {others.map((line) => <li key={line.name}>
                    <Shown line={line} />{" "}
                    <At draw={draw} line={line} at={at} /></li>)}
                <li class="at time">{said && "at " + said}</li>
            </ul>
            <div class="meaning">
                {props.children}
                <span class="dim">A drag selects</span>
                <Choice label="A drag selects what is" value={meaning}
                    options={MEANINGS} onPick={mean} />
            </div>
        </div>
        <div class="plot-keys" tabIndex={0} role="application" id={props.id}
            aria-roledescription="time line"
            aria-label={`${titleOf(draw)} over time. Arrows move, with Shift ` +
                "they stretch a range, Enter applies."}
            onKeyDown={onKey} onMouseLeave={() => setUnder(null)}>
            <Plot draw={draw} lines={shown} high={props.high ?? 148}
                hasMarks={!!props.hasMarks} {...(props.room && { room: props.room })}
                step_us={step_us} spans={spans} cursor={keys?.at}
                onRange={onRange} onMove={setUnder}
                onSpot={(s) => setSpot(bands.length > 0 ? s : undefined)}
                onClick={(us, value) => {
                    const band = bandAt(lines, Math.floor(us / step_us), value);
                    if (band?.pick) band.pick();
                    else onMoment(us);
                }} />
        </div>
        {bands.length > 0 && <Bands draw={draw} lines={bands} at={at}
            over={over} />}
        {over && spot && <Tip x={spot.x} y={spot.y} lines={[
            over.name, drawnText(draw, over.values[step] ?? 0) + " " +
                wordOf(draw), "at " + momentOf(step)]} />}
        <p class="hidden" aria-live="polite">{at === null ? ""
            : `${said}: ` + others.map((line) => `${line.name} ` +
                drawnText(draw, line.values[at] ?? 0)).join(", ")}</p>
    </section>;
}
