/* heat.tsx -- sizes by lifetimes: where in both the memory is; and each of them
 * by itself, in the last column and the last row */

import { useRef, useState } from "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import type { Heat, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { bytesText, countText, durationText } from "./format";
import { Region, SumLine, Waiting, saidText, valueText } from "./parts";
import type { By, Params } from "./state";
import { byOf, filterOf, go } from "./state";

const MOVES: Record<string, [number, number]> = {
    ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
    ArrowRight: [0, 1], k: [-1, 0], j: [1, 0], h: [0, -1], l: [0, 1],
};

/* Cells are in rows of a size, smallest first. */
const cellOf = (heat: Heat, size: number, life: number) =>
    heat.cells[size * (heat.lives.length - 1) + life] ?? [0, 0, 0];

const valueOf = (cell: number[], by: By) =>
    cell[by === "bytes" ? 0 : by === "blocks" ? 1 : 2] ?? 0;

/* In place of a size or of a lifetime: all of them. */
const ALL = -1;

/* What a size and a lifetime have. */
function sumOf(heat: Heat, sizes: number[], lives: number[], size: number,
               life: number): number[] {
    const cells = (size === ALL ? sizes : [size]).flatMap((s) =>
        (life === ALL ? lives : [life]).map((l) => cellOf(heat, s, l)));
    return [0, 1, 2].map((k) => cells.reduce((n, c) => n + (c[k] ?? 0), 0));
}

/* A range of a cell: edges belong to the upper one. */
const range = (edges: number[], i: number) => {
    const last = i + 2 === edges.length;
    return `${edges[i]}..${last ? "" : (edges[i + 1] as number) - 1}`;
};

function Grid(props: { heat: Heat; by: By }) {
    const { heat, by } = props;
    const body = useRef<HTMLTableSectionElement>(null);
    const [here, setHere] = useState<[number, number]>([0, 0]);
    const sizes = heat.sizes.slice(0, -1).map((_, i) => i).reverse();
    const lives = heat.lives.slice(0, -1).map((_, i) => i);
    const rows = [...sizes, ALL];
    const columns = [...lives, ALL];
    const at_ = (s: number, l: number) =>
        valueOf(sumOf(heat, sizes, lives, s, l), by);
    const most = Math.max(...heat.cells.map((c) => valueOf(c, by)), 1);
    const mostOfSize = Math.max(...sizes.map((s) => at_(s, ALL)), 1);
    const mostOfLife = Math.max(...lives.map((l) => at_(ALL, l)), 1);
    const sizeText = (s: number) => s === ALL ? "All sizes"
        : bytesText(heat.sizes[s] as number) + " or more";
    const lifeText = (l: number) => l === ALL ? "all lifetimes"
        : durationText(heat.lives[l] as number) + " or more";

    const choose = (size: number, life: number) => go({
        ...(size !== ALL && { size: range(heat.sizes, size) }),
        ...(life !== ALL && { life: range(heat.lives, life) }) });
    const onKey = (e: TargetedKeyboardEvent<HTMLTableSectionElement>) => {
        const move = MOVES[e.key];
        if (!move || e.ctrlKey || e.metaKey || e.altKey) return;
        const at = (x: number, most_x: number) =>
            Math.max(0, Math.min(most_x - 1, x));
        const next: [number, number] = [at(here[0] + move[0], rows.length),
                                        at(here[1] + move[1], columns.length)];
        setHere(next);
        body.current?.querySelectorAll("tr")[next[0]]
            ?.querySelectorAll("button")[next[1]]?.focus();
        e.preventDefault();
        e.stopPropagation();
    };
    return <table class="heat">
        <tbody ref={body} onKeyDown={onKey}>
            {rows.map((s, row) => <tr key={s}>
                <th scope="row">{s === ALL ? "all"
                    : bytesText(heat.sizes[s] as number)}</th>
                {columns.map((l, column) => {
                    const cell = sumOf(heat, sizes, lives, s, l);
                    const value = valueOf(cell, by);
                    const isSum = s === ALL || l === ALL;
                    /* Of six: roots, so that what is small is still seen. */
                    const strength = Math.ceil(6 * Math.sqrt(value / most));
                    const share = value / (l !== ALL ? mostOfLife
                        : s !== ALL ? mostOfSize : Infinity);
                    const label = `${sizeText(s)}, ${lifeText(l)}: ` +
                        `${saidText(value, by)}, ${countText(cell[2] ?? 0)} ` +
                        "sampled";
                    return <td key={l}><button type="button" title={label}
                        aria-label={label} disabled={value <= 0}
                        tabIndex={row === here[0] && column === here[1]
                            ? 0 : -1}
                        class={isSum ? "cell sum" : `cell heat-${strength}`}
                        style={isSum ? { "--share": `${share * 100}%` } : {}}
                        onFocus={() => setHere([row, column])}
                        onClick={() => choose(s, l)}>
                        {value > 0 && valueText(value, by)}</button></td>;
                })}
            </tr>)}
        </tbody>
        <tfoot><tr><td />{lives.map((l) =>
            <th scope="col" key={l}>{durationText(heat.lives[l] as number)}
            </th>)}<th scope="col">all</th></tr></tfoot>
    </table>;
}

export function HeatView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const asked = useAnswer<Heat>("heat", query(filterOf(params)));
    const by = byOf(params);
    return <section class="view">
        <Waiting asked={asked}>{(heat) => <>
            <p class="over"><SumLine sum={heat.total} label="Total"
                exact={props.trace.is_exact} />
                <span class="dim">{countText(heat.cells.filter((c) =>
                    valueOf(c, by) > 0).length)} of{" "}
                    {countText(heat.cells.length)} cells hold blocks, the
                    fullest {saidText(Math.max(0, ...heat.cells.map((c) =>
                    valueOf(c, by))), by)}</span></p>
            <p class="under dim">Rows: size of a block; columns: how long it
                lived; a cell: {by} in it; last, each by itself. A click
                filters by it.</p>
            <Region label="Heat map"><Grid heat={heat} by={by} /></Region>
        </>}</Waiting>
    </section>;
}
