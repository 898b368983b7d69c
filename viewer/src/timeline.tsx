/* timeline.tsx -- live bytes over time, and ranges chosen on them
 *
 * A drag chooses a range, a click a moment; what they mean (allocated in, live
 * at, freed in) is said beside the picture.  The same by keys: arrows move a
 * cursor, with Shift they stretch a range, Enter applies it. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from
    "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import uPlot from "uplot";
import type { Timeline, TraceInfo } from "./answers";
import { useAnswer } from "./ask";
import { bytesText, durationText, momentText } from "./format";
import { drawn, marksPlugin } from "./marks";
import { Choice } from "./parts";
import type { Params, Range } from "./state";
import { filterOf, go, one, parseRange, rangeText } from "./state";
import { useTheme } from "./theme";

type Meaning = "alloc" | "live" | "freed";
const MEANINGS = [["alloc", "allocated in"], ["live", "live in"],
                  ["freed", "freed in"]] as const;
const HEIGHT = 148;

interface Band {
    key: Meaning;
    from: number;
    to: number;
}

/* What the filter says about time, in microseconds. */
function bandsOf(params: Params, trace: TraceInfo): Band[] {
    const { peak_us, end_us } = trace;
    const bands: Band[] = [];
    for (const [key] of MEANINGS) {
        const text = one(params, key);
        const range = parseRange(text);
        const moment = text === "peak" ? peak_us
            : text === "end" || text === "never" ? end_us
            : text !== undefined && /^\d+$/.test(text) ? Number(text)
            : undefined;
        if (range)
            bands.push({ key, from: range.from ?? 0, to: range.to ?? end_us });
        else if (moment !== undefined)
            bands.push({ key, from: moment,
                         to: text === "peak" ? trace.peak_last_us : moment });
    }
    return bands;
}

const css = (name: string) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const POWERS = Array.from({ length: 60 }, (_, i) => 2 ** i);
const SECONDS = [
    ...[-6, -5, -4, -3, -2, -1].flatMap((e) =>
        [1, 2, 5].map((m) => m * 10 ** e)),
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400,
    21600, 43200, 86400, 172800, 604800, 2592000,
];

function axisTime(seconds: number, step: number): string {
    if (seconds === 0) return "0";
    return step >= 60 || seconds < 1 ? durationText(seconds * 1e6)
        : momentText(seconds * 1e6, step * 1e6);
}

function paintBands(u: uPlot, bands: Band[]) {
    const { ctx, bbox } = u;
    ctx.save();
    for (const band of bands) {
        const x0 = u.valToPos(band.from / 1e6, "x", true);
        const x1 = u.valToPos(band.to / 1e6, "x", true);
        ctx.fillStyle = css(`--band-${band.key}`);
        ctx.globalAlpha = 0.16;
        ctx.fillRect(x0, bbox.top, Math.max(x1 - x0, 0), bbox.height);
        ctx.globalAlpha = 1;
        for (const x of x1 > x0 ? [x0, x1] : [x0])
            ctx.fillRect(x - devicePixelRatio, bbox.top, 2 * devicePixelRatio,
                         bbox.height);
    }
    ctx.restore();
}

interface Handlers {
    bands: () => Band[];
    onRange: (from_us: number, to_us: number) => void;
    onMoment: (us: number) => void;
    onMove: (index: number | null) => void;
}

function options(width: number, hasRss: boolean, h: Handlers): uPlot.Options {
    const axis = {
        stroke: css("--dim"), font: "11px " + css("--sans"),
        grid: { stroke: css("--grid"), width: 1 },
        ticks: { stroke: css("--grid"), size: 4 },
    };
    const stepped = uPlot.paths.stepped?.({ align: 1 }) as
        uPlot.Series.PathBuilder;
    const line = { paths: stepped, points: { show: false } };
    return {
        width, height: HEIGHT, legend: { show: false },
        plugins: [marksPlugin()],
        padding: [8, 24, 0, 0],
        scales: { x: { time: false }, y: { range: (_u, _min, max) =>
            [0, Math.max(max * 1.05, 1)] } },
        axes: [
            { ...axis, incrs: SECONDS, size: 26,
              values: (_u, splits, _i, _s, step) =>
                  splits.map((s) => axisTime(s, step)) },
            { ...axis, incrs: POWERS, size: 72, space: 24,
              values: (_u, splits) => splits.map((s) => bytesText(s)) },
        ],
        series: [
            {},
            { ...line, stroke: css("--line-all"), fill: css("--area-all"),
              width: 1 },
            { ...line, stroke: css("--accent"), fill: css("--area-part"),
              width: 1.5 },
            { ...line, show: hasRss, stroke: css("--line-rss"), width: 1.25,
              dash: [4, 3], spanGaps: true },
        ],
        cursor: { y: false, points: { show: false },
                  drag: { x: true, y: false, setScale: false, dist: 4 } },
        hooks: {
            draw: [(u) => paintBands(u, h.bands())],
            setCursor: [(u) => h.onMove(u.cursor.idx ?? null)],
            setSelect: [(u) => {
                const { left, width: wide } = u.select;
                if (wide <= 0) return;
                const at = (px: number) => u.posToVal(px, "x") * 1e6;
                u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
                h.onRange(at(left), at(left + wide));
            }],
            ready: [(u) => {
                let down = 0;
                u.over.addEventListener("mousedown", (e) => {
                    down = e.clientX;
                });
                u.over.addEventListener("click", (e) => {
                    if (Math.abs(e.clientX - down) >= 4) return;
                    const left = e.clientX -
                        u.over.getBoundingClientRect().left;
                    h.onMoment(u.posToVal(left, "x") * 1e6);
                });
            }],
        },
    };
}

function dataOf(t: Timeline): uPlot.AlignedData {
    const n = t.all.length;
    const x = Array.from({ length: n + 1 }, (_, i) => (i * t.step_us) / 1e6);
    const closed = <T,>(list: T[]) => [...list, list[n - 1] as T];
    return [x, closed(t.all), closed(t.part),
            closed(t.rss.length === n ? t.rss : t.all.map(() => null))];
}

interface PlotProps {
    timeline: Timeline;
    hasRss: boolean;
    bands: Band[];
    cursor: number | undefined; /* step that the keys chose */
    onRange: (from_us: number, to_us: number) => void;
    onMoment: (us: number) => void;
    onMove: (index: number | null) => void;
}

function Plot(props: PlotProps) {
    const theme = useTheme();
    const box = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | undefined>(undefined);
    const latest = useRef(props);
    latest.current = props;

    useLayoutEffect(() => {
        const element = box.current as HTMLDivElement;
        const u = new uPlot(options(element.clientWidth, props.hasRss, {
            bands: () => latest.current.bands,
            onRange: (a, b) => latest.current.onRange(a, b),
            onMoment: (us) => latest.current.onMoment(us),
            onMove: (i) => latest.current.onMove(i),
        }), dataOf(latest.current.timeline), element);
        plot.current = u;
        const observer = new ResizeObserver(() =>
            u.setSize({ width: element.clientWidth, height: HEIGHT }));
        observer.observe(element);
        return () => {
            observer.disconnect();
            u.destroy();
        };
    }, [theme, props.hasRss]);
    useEffect(() => plot.current?.setData(dataOf(props.timeline)),
              [props.timeline]);
    /* The lines stay: to rebuild them would take back the scale of new data. */
    useEffect(() => plot.current?.redraw(false), [props.bands]);
    useEffect(() => {
        const u = plot.current;
        if (!u || props.cursor === undefined) return;
        u.setCursor({ top: 10, left: u.valToPos(
            (props.cursor * props.timeline.step_us) / 1e6, "x") });
    }, [props.cursor]);
    return <div class="plot" ref={box} />;
}

/* ---- the panel -------------------------------------------------------- */

/* Resident memory is drawn unless it would press all else to the ground. */
const RSS_MOST = 4;

function showsRss(params: Params, t: Timeline): boolean {
    const wish = one(params, "rss");
    if (wish !== undefined) return wish === "1";
    const most = (list: (number | null)[]) =>
        list.reduce<number>((m, v) => Math.max(m, v ?? 0), 0);
    return most(t.rss) <= RSS_MOST * most(t.all);
}

function Legend(props: { t: Timeline; at: number | null; hasRss: boolean;
                         isShown: boolean }) {
    const { t, at } = props;
    const value = (list: (number | null)[]) => {
        const v = at === null ? undefined : list[Math.min(at, list.length - 1)];
        return <span class="at">{v === undefined || v === null ? ""
            : bytesText(v)}</span>;
    };
    return <ul class="legend" aria-label="Lines">
        <li><i class="swatch all" />live, all {value(t.all)}</li>
        <li><i class="swatch part" />live, filtered {value(t.part)}</li>
        {props.hasRss &&
            <li><label><input type="checkbox" checked={props.isShown}
                onChange={(e) =>
                    go({ rss: e.currentTarget.checked ? "1" : "0" },
                       "replace")} />
                <i class="swatch rss" />resident memory</label>
                {value(t.rss)}</li>}
        <li class="at time">{at === null ? ""
            : "at " + momentText(at * t.step_us, t.step_us)}</li>
    </ul>;
}

const fromUs = (t: Timeline, step: number) => Math.floor(step * t.step_us);

/* Whoever folds or unfolds goes on by keys where the time line is then. */
export const focusWish = { on: false };

export function TimelinePanel(props: { params: Params; trace: TraceInfo }) {
    const { params, trace } = props;
    const end_us = trace.end_us;
    drawn.trace = trace;
    const { answer: t, error } = useAnswer<Timeline>("timeline",
                                                     filterOf(params));
    const [meaning, mean] = useState<Meaning>("alloc");
    const [at, setAt] = useState<number | null>(null);
    const [keys, setKeys] = useState<{ at: number; from: number }>();
    const bands = useMemo(() => {
        const list = bandsOf(params, trace);
        return t && keys && keys.from !== keys.at
            ? [...list, { key: meaning,
                          from: fromUs(t, Math.min(keys.from, keys.at)),
                          to: fromUs(t, Math.max(keys.from, keys.at)) }]
            : list;
    }, [params, trace, t, keys, meaning]);

    useEffect(() => {
        if (!t || !focusWish.on) return;
        focusWish.on = false;
        document.getElementById("timeline")?.focus();
    }, [t]);

    if (error !== undefined)
        return <p class="error" role="alert">{error}</p>;
    if (!t) return <div class="timeline" aria-busy="true" />;

    const whole = (us: number) => Math.round(Math.max(0, Math.min(us, end_us)));
    const onRange = (from: number, to: number) => {
        const range: Range = { from: whole(from), to: whole(to) };
        go({ [meaning]: rangeText(range) });
    };
    const onMoment = (us: number) => go({ live: String(whole(us)) });
    const n = t.all.length;
    const isShown = showsRss(params, t);
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
            setAt(Math.min(to, n - 1));
        } else if (e.key === "Enter" && keys) {
            if (keys.from === keys.at) onMoment(fromUs(t, keys.at));
            else onRange(fromUs(t, Math.min(keys.from, keys.at)),
                         fromUs(t, Math.max(keys.from, keys.at)));
            setKeys(undefined);
        } else if (e.key === "Escape" && keys) {
            setKeys(undefined);
        } else {
            return;
        }
        e.preventDefault();
        e.stopPropagation();
    };
    return <section class="timeline" aria-label="Time line">
        <div class="tools">
            <Legend t={t} at={at} hasRss={trace.has_rss}
                isShown={isShown} />
            <div class="meaning">
                <span class="dim" id="drag-means">A drag selects</span>
                <Choice label="A drag selects what is" value={meaning}
                    options={MEANINGS} onPick={mean} />
            </div>
        </div>
        <div class="plot-keys" tabIndex={0} role="application" id="timeline"
            aria-roledescription="time line"
            aria-label={"Live bytes over time. Arrows move, with Shift they " +
                "stretch a range, Enter applies."}
            onKeyDown={onKey} onMouseLeave={() => setAt(null)}>
            <Plot timeline={t} hasRss={trace.has_rss && isShown} bands={bands}
                cursor={keys?.at} onRange={onRange} onMoment={onMoment}
                onMove={setAt} />
        </div>
        <p class="hidden" aria-live="polite">{at === null ? ""
            : `${momentText(at * t.step_us, t.step_us)}: ` +
                `${bytesText(t.all[at] ?? 0)} live, ` +
                `${bytesText(t.part[at] ?? 0)} of the filter`}</p>
    </section>;
}
