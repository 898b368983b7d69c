/* graph.tsx -- the merged call graph: a box a function, a line for its calls */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from
    "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import type { Func, Graph, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { Calls } from "./calls";
import { Draw, isOwnOf } from "./draw";
import { found } from "./find";
import { Crumbs, focusQuery, namesOf } from "./flame";
import { total } from "./forest";
import { countText, percentText } from "./format";
import { NODE, layout } from "./graph_layout";
import { Choice, SumLine, Waiting, cutTo, errText, nameOf, placeOf, saidText, shortOf,
         valueText } from "./parts";
import { pick } from "./selection";
import type { By, Params } from "./state";
import { back, byOf, filterOf, focusOf, go, one } from "./state";

const LETTERS = 26; /* of a name, in a box */
const LABELLED = 0.03; /* lines with less have no label */
const ZOOM = 1.25;
const WIDEST = 2;
const LEAST_FIT = 0.75; /* smaller letters could not be read */

/* From bend to bend, up and down at each. A call of itself is a loop. */
function curve(line: number[]): string {
    const [x0, y0] = line as [number, number];
    const half = NODE.height / 2;
    if (line.length === 2) {
        const right = x0 + NODE.width / 2;
        return `M${right} ${y0 - 8}c26 -10 26 26 0 16`;
    }
    const down = (line.at(-1) as number) > y0 ? 1 : -1;
    let path = `M${x0} ${y0 + down * half}`;
    let from = y0 + down * half;
    let at = x0;
    for (let i = 2; i < line.length; i += 2) {
        const x = line[i] as number;
        const isLast = i === line.length - 2;
        const y = (line[i + 1] as number) - (isLast ? down * (half + 5) : 0);
        const mid = (from + y) / 2;
        path += `C${at} ${mid} ${x} ${mid} ${x} ${y}`;
        at = x;
        from = y;
    }
    return path;
}

/* The box nearest in a direction. */
function nearest(x: number[], y: number[], from: number, dx: number,
                 dy: number): number {
    let best = from;
    let least = Infinity;
    x.forEach((_, i) => {
        const along = (x[i]! - x[from]!) * dx + (y[i]! - y[from]!) * dy;
        const across = Math.abs((x[i]! - x[from]!) * dy) +
            Math.abs((y[i]! - y[from]!) * dx);
        if (along > 1 && along + 2 * across < least) {
            least = along + 2 * across;
            best = i;
        }
    });
    return best;
}

const MOVES: Record<string, [number, number]> = {
    ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0],
    ArrowRight: [1, 0], k: [0, -1], j: [0, 1], h: [-1, 0], l: [1, 0],
};

function Picture(props: { answer: Graph; params: Params; by: By;
                          exact: boolean }) {
    const { answer, by, params } = props;
    const q = one(params, "q") ?? "";
    const scroller = useRef<HTMLDivElement>(null);
    const [zoom, setZoom] = useState(0); /* 0: what fits */
    const [here, setHere] = useState(0);
    const [room, setRoom] = useState(0);
    const plan = useMemo(() => layout(answer.nodes.length, answer.edges),
                         [answer]);
    const matches = useMemo(() => found(answer.functions, q), [answer, q]);
    const whole = total(answer.focus, by) || 1;
    const isOwn = isOwnOf(params);
    const fit = Math.max(LEAST_FIT, Math.min(1, room / plan.width));
    const k = zoom || fit;
    const { x, y } = plan;
    useLayoutEffect(() => {
        const measure = () => setRoom(scroller.current?.clientWidth ?? 0);
        const observer = new ResizeObserver(measure);
        observer.observe(scroller.current as Element);
        measure();
        return () => observer.disconnect();
    }, []);
    useLayoutEffect(() => { /* the heaviest function comes into sight */
        setHere(0);
        const s = scroller.current;
        if (s) s.scrollLeft = (x[0] ?? 0) * k - s.clientWidth / 2;
    }, [plan, room]);
    const scale = (by_: number) => {
        const s = scroller.current as HTMLElement;
        const next = Math.max(0.2, Math.min(WIDEST, k * by_));
        const [mx, my] = [s.scrollLeft + s.clientWidth / 2,
                          s.scrollTop + s.clientHeight / 2];
        setZoom(next);
        requestAnimationFrame(() => s.scrollTo(
            mx * next / k - s.clientWidth / 2,
            my * next / k - s.clientHeight / 2));
    };
    useEffect(() => { /* the page's own zoom stays out of it */
        const s = scroller.current as HTMLElement;
        const onWheel = (e: WheelEvent) => {
            if (!e.ctrlKey) return;
            e.preventDefault();
            scale(e.deltaY < 0 ? ZOOM : 1 / ZOOM);
        };
        s.addEventListener("wheel", onWheel, { passive: false });
        return () => s.removeEventListener("wheel", onWheel);
    });
    const fnAt = (i: number) => answer.functions[answer.nodes[i]?.[0] ?? -1];
    const choose = (i: number) => {
        const fn = fnAt(i);
        setHere(i);
        if (fn) pick({ fn });
    };
    const enter = (i: number) => {
        choose(i);
        go({ focus: String(fnAt(i)?.id) });
    };
    const onKey = (e: TargetedKeyboardEvent<SVGElement>) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const move = MOVES[e.key];
        if (move) {
            const next = nearest(x, y, here, ...move);
            choose(next);
            const box = e.currentTarget.querySelectorAll<SVGElement>(
                "[role=button]")[next];
            box?.focus();
            box?.scrollIntoView({ block: "nearest", inline: "nearest" });
        } else if (e.key === "Enter") enter(here);
        else if (e.key === "+" || e.key === "=") scale(ZOOM);
        else if (e.key === "-") scale(1 / ZOOM);
        else if (e.key === "0") setZoom(0);
        else if (e.key === "Escape") back() || go({ focus: undefined });
        else return;
        e.preventDefault();
        e.stopPropagation();
    };
    const drag = useRef<{ x: number; y: number; far: boolean } |
        undefined>(undefined);
    const said = (i: number, name: (f: Func | undefined) => string) => {
        const [, self, all, se, n, low, high] = answer.nodes[i] as number[];
        const err = errText({ value: all!, se: se!, range: [low!, high!],
                              few: low !== 0 || high !== 0 }, by);
        return [name(fnAt(i)), placeOf(fnAt(i)),
                `${saidText(all!, by, props.exact ? "" : err)}, ` +
                    percentText(all! / whole),
                `${saidText(self!, by)} its own`,
                props.exact ? "" : `${n} sampled`]
            .filter((s) => s !== "").join("\n");
    };
    return <div class="graph">
        <div class="choice zoom" role="group" aria-label="Zoom">
            <button type="button" aria-label="Smaller" title="-"
                onClick={() => scale(1 / ZOOM)}>−</button>
            <button type="button" title="0" aria-pressed={zoom === 0}
                onClick={() => setZoom(0)}>Fit</button>
            <button type="button" aria-label="Larger" title="+"
                onClick={() => scale(ZOOM)}>+</button>
        </div>
        <div class="graph-room" ref={scroller} tabIndex={0}
            role="region" aria-label="Call graph, to be scrolled"
            onPointerDown={(e) => {
                if (e.pointerType === "mouse" && e.button === 0)
                    drag.current = { x: e.clientX, y: e.clientY, far: false };
            }}
            onPointerMove={(e) => {
                const d = drag.current;
                if (!d || e.buttons === 0) return;
                d.far ||= Math.hypot(e.clientX - d.x, e.clientY - d.y) > 4;
                if (!d.far) return;
                e.currentTarget.scrollBy(d.x - e.clientX, d.y - e.clientY);
                d.x = e.clientX;
                d.y = e.clientY;
            }}
            onClickCapture={(e) => {
                if (drag.current?.far) e.stopPropagation();
                drag.current = undefined;
            }}>
            <svg width={plan.width * k} height={plan.height * k} role="group"
                viewBox={`0 0 ${plan.width} ${plan.height}`} onKeyDown={onKey}
                aria-label="Call graph. The table has its calls.">
                <marker id="arrow" viewBox="0 0 6 6" refX="1" refY="3"
                    markerWidth="7" markerHeight="7" orient="auto"
                    markerUnits="userSpaceOnUse">
                    <path d="M0 0 6 3 0 6z" /></marker>
                {answer.edges.map(([a, b, v, way], e) => {
                    const share = v! / whole;
                    const line = plan.lines[e] as number[];
                    const isHere = a === here || b === here;
                    return <g key={e} class={isHere ? "call here" : "call"}>
                        <path d={curve(line)} marker-end="url(#arrow)"
                            stroke-width={1 + 5 * share}
                            stroke-dasharray={way ? "5 3" : undefined}>
                            <title>{`${shortOf(fnAt(a!))} → ${
                                shortOf(fnAt(b!))}\n${saidText(v!, by)}, ${
                                percentText(share)}${
                                way ? ", by way of others" : ""}`}</title>
                        </path>
                        {share >= LABELLED && line.length > 2 && <text
                            x={(line[0]! + line[2]!) / 2 + 4}
                            y={(line[1]! + line[3]!) / 2 + 3}
                            aria-hidden="true">{valueText(v!, by)}</text>}
                    </g>;
                })}
                {answer.nodes.map(([, self, all], i) => {
                    const fn = fnAt(i);
                    const kind = fn?.whole === "thread" ? ""
                        : fn?.library ? " lib" : " own";
                    return <g key={i} role="button"
                        tabIndex={i === here ? 0 : -1}
                        class={"node" + (isOwn ? kind : "") +
                            (matches.has(fn?.name ?? "") ? " match" : "")}
                        transform={`translate(${x[i]! - NODE.width / 2} ${
                            y[i]! - NODE.height / 2})`}
                        onClick={() => enter(i)}
                        onFocus={() => setHere(i)}>
                        <title>{said(i, nameOf)}</title>
                        <rect class="box" width={NODE.width} rx="3"
                            height={NODE.height} />
                        <rect class="all" y={NODE.height - 4} height="4"
                            width={NODE.width * Math.min(1, all! / whole)} />
                        <rect class="self" y={NODE.height - 4} height="4"
                            width={NODE.width * Math.min(1, self! / whole)} />
                        <text class="code" x="8" y="16">
                            {cutTo(shortOf(fn), LETTERS)}</text>
                        <text class="dim" x="8" y="32">
                            {self! > 0 && self! < all!
                                ? valueText(self!, by) + " of " : ""}
                            {valueText(all!, by)} · {percentText(all! / whole)}
                        </text>
                    </g>;
                })}
            </svg>
        </div>
    </div>;
}

const AS = [["graph", "Graph"], ["calls", "Table of calls"]] as const;

export function GraphView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const focus = focusOf(params);
    const by = byOf(params);
    const as = one(params, "as") === "calls" ? "calls" : "graph";
    const exact = props.trace.is_exact;
    const asked = useAnswer<Graph>("graph", query(filterOf(params),
                                                  focusQuery(focus)));
    return <section class="view fill">
        <div class="tools">
            <Choice label="Show as" value={as} options={AS}
                onPick={(a) => go({ as: a === "graph" ? undefined : a })} />
            <Draw params={params} trace={props.trace}
                isPlain={as === "calls"} />
        </div>
        <Waiting asked={asked}>{(answer) => {
            const { rest } = answer;
            return <>
                <Crumbs fragment={focus} names={namesOf(answer)} />
                {as === "calls" ? <Calls answer={answer} params={params}
                        by={by} exact={exact} />
                    : answer.nodes.length > 0 ? <Picture answer={answer} params={params} by={by}
                        exact={exact} />
                    : <p class="dim">No stack passes.</p>}
                <p class="under">
                    {as === "graph" && <SumLine sum={answer.focus} exact={exact}
                        label={focus.length > 0 ? "In focus" : "Total"} />}
                    {rest.nodes + rest.edges > 0 && <span class="dim">Not
                        shown: {countText(rest.nodes)} functions with{" "}
                        {saidText(rest.self, by)} their own{rest.edges > 0 &&
                            `, ${countText(rest.edges)} small calls`}.{" "}
                        {as === "graph" ? "Dashed lines" : "Arrows like ⇢"} pass
                        over some.</span>}
                </p>
            </>;
        }}</Waiting>
    </section>;
}
