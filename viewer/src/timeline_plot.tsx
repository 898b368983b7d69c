/* timeline_plot.tsx -- lines and bands over time, as uPlot draws them */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { durationText, momentText } from "./format";
import { marksPlugin } from "./marks";
import type { Draw, Line, Values } from "./timeline_lines";
import { drawnText, tops } from "./timeline_lines";
import { useTheme } from "./theme";

export type Meaning = "alloc" | "live" | "freed";

/* What the filter says about time, in microseconds. */
export interface Span {
    key: Meaning;
    from: number;
    to: number;
}

const css = (name: string) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const inkOf = (ink: string) => ink.startsWith("--") ? css(ink) : ink;

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

function paintSpans(u: uPlot, spans: Span[]) {
    const { ctx, bbox } = u;
    ctx.save();
    for (const span of spans) {
        const x0 = u.valToPos(span.from / 1e6, "x", true);
        const x1 = u.valToPos(span.to / 1e6, "x", true);
        ctx.fillStyle = css(`--band-${span.key}`);
        ctx.globalAlpha = 0.16;
        ctx.fillRect(x0, bbox.top, Math.max(x1 - x0, 0), bbox.height);
        ctx.globalAlpha = 1;
        for (const x of x1 > x0 ? [x0, x1] : [x0])
            ctx.fillRect(x - devicePixelRatio, bbox.top, 2 * devicePixelRatio,
                         bbox.height);
    }
    ctx.restore();
}

/* Where a pointer is: on which value, and where in the window. */
export interface Spot {
    us: number;
    value: number;
    x: number;
    y: number;
}

interface Handlers {
    onRange: (from_us: number, to_us: number) => void;
    onClick: (us: number, value: number) => void;
    onMove: (step: number | null) => void;
    onSpot: (spot: Spot | undefined) => void;
}

export interface PlotProps extends Handlers {
    draw: Draw;
    high: number; /* pixels */
    lines: Line[];
    step_us: number;
    spans: Span[];
    hasMarks: boolean;
    cursor: number | undefined; /* step that the keys chose */
    room?: Room;
}

/* What a plot has room for at least, so that two have one scale. */
export interface Room {
    steps: number;
    value: number;
}

/* What is drawn first is covered by what is drawn after it. */
const inOrder = (lines: Line[]) => [
    ...lines.filter((l) => !l.isBand && !l.isDashed),
    ...lines.filter((l) => l.isBand).reverse(),
    ...lines.filter((l) => l.isDashed),
];

function seriesOf(line: Line): uPlot.Series {
    const paths = uPlot.paths.stepped?.({ align: 1 }) as
        uPlot.Series.PathBuilder;
    const common = { paths, points: { show: false }, spanGaps: !!line.isDashed,
                     ...(line.fill && { fill: inkOf(line.fill) }) };
    if (line.isBand) return { ...common, width: 0 };
    return { ...common, stroke: inkOf(line.ink),
             width: line.ink === "--line-all" ? 1 : 1.5,
             ...(line.isDashed && { dash: [4, 3] }) };
}

function hooks(spans: () => Span[], h: Handlers): uPlot.Hooks.Arrays {
    const under = (u: uPlot, e: MouseEvent) => {
        const box = u.over.getBoundingClientRect();
        return { us: u.posToVal(e.clientX - box.left, "x") * 1e6,
                 value: u.posToVal(e.clientY - box.top, "y") };
    };
    return {
        draw: [(u) => paintSpans(u, spans())],
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
            u.over.addEventListener("mousemove", (e) => h.onSpot({
                ...under(u, e), x: e.clientX, y: e.clientY }));
            u.over.addEventListener("mouseleave", () => h.onSpot(undefined));
            u.over.addEventListener("click", (e) => {
                if (Math.abs(e.clientX - down) >= 4) return;
                const { us, value } = under(u, e);
                h.onClick(us, value);
            });
        }],
    };
}

function options(width: number, props: PlotProps, spans: () => Span[],
                 h: Handlers): uPlot.Options {
    const { draw } = props;
    const axis = {
        stroke: css("--dim"), font: "11px " + css("--sans"),
        grid: { stroke: css("--grid"), width: 1 },
        ticks: { stroke: css("--grid"), size: 4 },
    };
    const least = Math.max(draw === "temporary" ? 0.01 : 1,
                           (props.room?.value ?? 0) * 1.05);
    const isBytes = draw === "bytes" || draw === "allocated";
    return {
        width, height: props.high, legend: { show: false },
        plugins: props.hasMarks ? [marksPlugin()] : [],
        padding: [8, 24, 0, 0],
        scales: { x: { time: false }, y: { range: (_u, _min, max) =>
            [0, Math.max((max ?? 0) * 1.05, least)] } },
        axes: [
            { ...axis, incrs: SECONDS, size: 26,
              values: (_u, splits, _i, _s, step) =>
                  splits.map((s) => axisTime(s, step)) },
            { ...axis, ...(isBytes && { incrs: POWERS }), size: 72, space: 24,
              values: (_u, splits) => splits.map((s) => drawnText(draw, s)) },
        ],
        series: [{}, ...inOrder(props.lines).map(seriesOf)],
        cursor: { y: false, points: { show: false },
                  drag: { x: true, y: false, setScale: false, dist: 4 } },
        hooks: hooks(spans, h),
    };
}

/* Lines may be of different lengths; a step is as wide as the next is far. */
function dataOf(props: PlotProps): uPlot.AlignedData {
    const n = Math.max(props.room?.steps ?? 0,
                       ...props.lines.map((l) => l.values.length));
    const sums = tops(props.lines);
    const x = Array.from({ length: n + 1 }, (_, i) => (i * props.step_us) / 1e6);
    const closed = (list: Values) => Array.from({ length: n + 1 }, (_, i) =>
        i < list.length ? list[i] ?? null
            : i === list.length ? list[i - 1] ?? null : null);
    return [x, ...inOrder(props.lines).map((l) =>
        closed(sums.get(l) ?? l.values))];
}

export function Plot(props: PlotProps) {
    const theme = useTheme();
    const box = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | undefined>(undefined);
    const latest = useRef(props);
    latest.current = props;

    /* Another look is another plot; other figures are not. */
    const look = JSON.stringify([props.draw, props.room, props.lines.map((l) =>
        [l.ink, l.fill, l.isBand, l.isDashed])]);
    useLayoutEffect(() => {
        const element = box.current as HTMLDivElement;
        const u = new uPlot(options(element.clientWidth, latest.current,
            () => latest.current.spans, {
                onRange: (a, b) => latest.current.onRange(a, b),
                onClick: (us, v) => latest.current.onClick(us, v),
                onMove: (i) => latest.current.onMove(i),
                onSpot: (s) => latest.current.onSpot(s),
            }), dataOf(latest.current), element);
        plot.current = u;
        const observer = new ResizeObserver(() =>
            u.setSize({ width: element.clientWidth, height: latest.current.high }));
        observer.observe(element);
        return () => {
            observer.disconnect();
            u.destroy();
        };
    }, [theme, look]);
    useEffect(() => plot.current?.setData(dataOf(latest.current)),
              [props.lines]);
    /* The lines stay: to rebuild them would take back the scale of new data. */
    useEffect(() => plot.current?.redraw(false), [props.spans]);
    useEffect(() => {
        const u = plot.current;
        if (!u || props.cursor === undefined) return;
        u.setCursor({ top: 10, left: u.valToPos(
            (props.cursor * props.step_us) / 1e6, "x") });
    }, [props.cursor]);
    return <div class="plot" ref={box} style={{ height: `${props.high}px` }} />;
}
