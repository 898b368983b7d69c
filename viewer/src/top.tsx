/* top.tsx -- the top of the page: all of it, or one line with a spark line
 *
 * A window that is not high gives its room to the view: the top is one line,
 * until the key `top` of the address says otherwise. */

import { useEffect, useState } from "preact/hooks";
import type { Info, Timeline, TraceInfo } from "./answers";
import { useAnswer } from "./ask";
import { Chips, FilterBar, FormButton, FormPlace, PresetSelect, TraceChoice,
         WEIGHTS } from "./filters";
import { bytesText, durationText } from "./format";
import { helpIsOpen } from "./help";
import { clean, cutName, fileOf } from "./parts";
import type { Params } from "./state";
import { TIME_KEYS, byOf, filterOf, go, isPreset, linkTo, one, presets } from
    "./state";
import type { Choice } from "./theme";
import { choice, choose } from "./theme";
import { TimelinePanel, focusWish } from "./timeline";

const THEMES: Record<Choice, [Choice, string]> = {
    auto: ["light", "Theme: as the system"],
    light: ["dark", "Theme: light"],
    dark: ["auto", "Theme: dark"],
};

/* Below it the time line would take the view's room. */
const low = matchMedia("(max-height: 899px)");

function useIsLine(params: Params): boolean {
    const [isLow, set] = useState(low.matches);
    useEffect(() => {
        const listener = () => set(low.matches);
        low.addEventListener("change", listener);
        return () => low.removeEventListener("change", listener);
    }, []);
    const wish = one(params, "top");
    return wish === "line" || (wish !== "full" && isLow);
}

const whole = (n: number) => n.toLocaleString("en");

const nameOf = (t: TraceInfo) => clean(t.command || t.program || t.name);

function figures(t: TraceInfo): string {
    return `${bytesText(t.peak_bytes)} at the peak, ` +
        `${bytesText(t.total.bytes)} allocated in ${durationText(t.end_us)}` +
        (t.is_exact ? ", every block counted"
            : `, ${whole(t.n_rows)} blocks sampled`) +
        (t.n_left_out > 0 ? ` and drawn by chance from ${whole(
            t.n_rows + t.n_left_out)}: errors are of those` : "");
}

const hasNotes = (t: TraceInfo) => t.damage || t.notes.length > 0;

export function Tools(props: { isLine: boolean }) {
    const theme = choice.use();
    const [next, says] = THEMES[theme];
    return <div class="head-tools">
        {!props.isLine && <button type="button" class="plain" id="fold"
            title="Fold the top into a line" aria-label="Fold the top"
            onClick={() => {
                focusWish.on = true;
                go({ top: "line" }, "replace");
            }}>▴</button>}
        <button type="button" class="plain" title={says}
            aria-label={says} onClick={() => choose(next)}>
            {theme === "auto" ? "◐" : theme === "light" ? "☀" : "☾"}
        </button>
        <button type="button" class="plain" title="Keys ( ? )"
            aria-label="Keys" onClick={() => helpIsOpen.set(true)}>?
        </button>
    </div>;
}

/* ---- one line --------------------------------------------------------- */

const SPARK_HIGH = 100;

/* An area from the ground, as steps. */
function areaOf(list: number[], most: number): string {
    const y = (v: number) => (SPARK_HIGH * (1 - v / most)).toFixed(1);
    return `M0 ${SPARK_HIGH}` + list.map((v) => `V${y(v)}h1`).join("") +
        `V${SPARK_HIGH}z`;
}

function Spark(props: { params: Params; trace: TraceInfo }) {
    const { trace } = props;
    const { answer: t } = useAnswer<Timeline>("timeline",
                                              filterOf(props.params));
    useEffect(() => {
        if (focusWish.on) document.getElementById("spark")?.focus();
        focusWish.on = false;
    }, []);
    const most = Math.max(1, ...(t?.all ?? []));
    return <button type="button" class="plain spark" id="spark"
        title={figures(trace) + ". Unfold the time line ( t )"}
        aria-expanded={false} onClick={() => {
            focusWish.on = true;
            go({ top: "full" }, "replace");
        }}>
        <svg viewBox={`0 0 ${t?.all.length ?? 1} ${SPARK_HIGH}`}
            preserveAspectRatio="none" aria-hidden="true">
            {t && <path class="all" d={areaOf(t.all, most)} />}
            {t && <path class="part" d={areaOf(t.part, most)} />}
        </svg>
        <span>{bytesText(trace.peak_bytes)}
            <span class="hidden"> at the peak: time line</span></span>
    </button>;
}

/* The first word of a command without its folder. */
const shortCommand = (text: string) =>
    text.replace(/^\S*\/(?=\S)/, "");

function Line(props: { trace: TraceInfo; info: Info; params: Params }) {
    const { trace, params } = props;
    const list = presets(trace.end_us);
    const preset = list.find((p) => isPreset(params, p));
    /* What the preset says need not be said again. */
    const rest = preset ? new Map([...params].filter(([k]) =>
        !(TIME_KEYS as readonly string[]).includes(k))) : params;
    return <>
        <header class="line">
            <h1 title={nameOf(trace)}><bdi>{shortCommand(nameOf(trace))}</bdi>
            </h1>
            <Spark params={params} trace={trace} />
            <TraceChoice info={props.info} params={params} />
            <PresetSelect label="Preset" list={list} params={params}
                onPick={(p) => go(p.keys)} />
            <select aria-label="Weigh by" value={byOf(params)}
                onChange={(e) => go({ by: e.currentTarget.value === "bytes"
                    ? undefined : e.currentTarget.value })}>
                {WEIGHTS.map(([by, text]) => <option key={by} value={by}>{text}
                </option>)}
            </select>
            <FormButton />
            <Chips params={rest} trace={trace} side="" none="" />
            {hasNotes(trace) && <a href={linkTo({ view: "trace" })}>Notes</a>}
            <Tools isLine />
        </header>
        <section aria-label="Filter">
            <FormPlace params={params} trace={trace} />
        </section>
    </>;
}

/* ---- all of it -------------------------------------------------------- */

function Head(props: { trace: TraceInfo }) {
    const { trace } = props;
    return <header class="head">
        <div class="title">
            <h1><bdi>{cutName(nameOf(trace))}</bdi></h1>
            <p class="dim">{figures(trace)}{hasNotes(trace) && <>{", "}
                <a href={linkTo({ view: "trace" })}>see notes</a></>}</p>
        </div>
        <Tools isLine={false} />
    </header>;
}

export function Top(props: { info: Info; trace: TraceInfo; params: Params }) {
    const isLine = useIsLine(props.params);
    useEffect(() => {
        document.title = `${fileOf(props.trace.name)} – Aliquot`;
    }, [props.trace]);
    if (isLine) return <Line {...props} />;
    return <>
        <Head trace={props.trace} />
        <div class="top">
            <TimelinePanel params={props.params} trace={props.trace} />
            <FilterBar {...props} />
        </div>
    </>;
}
