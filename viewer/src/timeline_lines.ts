/* timeline_lines.ts -- what a time line draws: which figure, whole or divided
 *
 * Of what is allocated the engine has the sum of each step, which is drawn per
 * second; of what is temporary its bytes, which are drawn as a share of those
 * allocated in that step. So the bands of a step add up to its line. */

import type { Band, Timeline, TraceInfo } from "./answers";
import { threadName } from "./filter_text";
import { bytesText, countText, percentText } from "./format";
import { clean, fileOf, nameOf, shortOf } from "./parts";
import type { Params } from "./state";
import { all, go, one } from "./state";
import { added, pick } from "./selection";

export const DRAWS = [
    ["bytes", "Live bytes"], ["blocks", "Live blocks"],
    ["allocated", "Bytes allocated/s"],
    ["allocations", "Blocks allocated/s"],
    ["temporary", "Temporary share"],
] as const;
export type Draw = (typeof DRAWS)[number][0];

export const STACKS = [
    ["none", "Not stacked"], ["function", "By function"],
    ["thread", "By thread"], ["module", "By module"],
] as const;
export type Stack = (typeof STACKS)[number][0];

export const drawOf = (params: Params): Draw =>
    DRAWS.find(([d]) => d === one(params, "draw"))?.[0] ?? "bytes";
export const stackOf = (params: Params): Stack =>
    STACKS.find(([s]) => s === one(params, "stack"))?.[0] ?? "none";

/* Of the question; what the spark line has asked for is not asked again. */
const chosen = (key: string, value: string, otherwise: string) =>
    value === otherwise ? "" : `${key}=${value}`;
export const drawQuery = (params: Params) =>
    chosen("draw", drawOf(params), DRAWS[0][0]);
export const stackQuery = (params: Params) =>
    chosen("stack", stackOf(params), STACKS[0][0]);

export const titleOf = (draw: Draw) =>
    (DRAWS.find(([d]) => d === draw) as readonly [Draw, string])[1];

/* What the figure is of. */
export const wordOf = (draw: Draw) => draw === "temporary" ? draw
    : draw === "allocated" || draw === "allocations" ? "allocated" : "live";

export const drawnText = (draw: Draw, x: number) =>
    draw === "temporary" ? percentText(x) : draw === "bytes" ? bytesText(x)
        : draw === "blocks" ? countText(x)
        : draw === "allocated" ? bytesText(x) + "/s" : countText(x) + "/s";

/* null: there is nothing to draw in that step. */
export type Values = (number | null)[];

export interface Line {
    name: string;
    title?: string; /* the whole name */
    ink: string; /* a colour, or the property of the style sheet that has it */
    fill?: string;
    isDashed?: boolean;
    isBand?: boolean; /* it stands on the one before it */
    others?: number; /* so many that are no band of their own */
    values: Values;
    isHidden?: boolean; /* it is in the legend alone */
    show?: (is: boolean) => void;
    pick?: () => void; /* keeps what the band has */
    isPicked?: boolean;
}

/* Figures of an answer as they are drawn. */
function drawn(t: Timeline, list: number[], of: number[] | undefined): Values {
    if (t.draw === "temporary")
        return list.map((x, i) => of?.[i] ? x / (of[i] as number) : null);
    if (wordOf(t.draw) === "live") return list;
    /* The last step goes to the trace's end, and is left out if that is near:
     * a block born there would be a rate without bounds. */
    const last = list.length - 1;
    const rest_us = last > 0 ? t.end_us - last * t.step_us : t.step_us;
    return list.map((x, i) => i < last ? x * 1e6 / t.step_us
        : 2 * rest_us >= t.step_us ? x * 1e6 / rest_us : null);
}

export const allValues = (t: Timeline) => drawn(t, t.all, t.all_of);
export const partValues = (t: Timeline) => drawn(t, t.part, t.part_of);

/* Keeps, or keeps no longer, what has such a value of the keys. */
function toggling(params: Params, keys: string[], value: string,
                  also?: () => void): Pick<Line, "pick" | "isPicked"> {
    const is = keys.every((key) => all(params, key).includes(value));
    return { isPicked: is, pick: () => {
        if (!is) also?.();
        go(Object.fromEntries(keys.map((key) => [key, is
            ? all(params, key).filter((v) => v !== value)
            : added(params, key, value)])));
    } };
}

/* Which keys of the address a key of the filter is: of both sides, two. */
type KeysOf = (key: string) => string[];

const othersOf = (n: number) => ({ name: `${countText(n)} others`, others: n });

function bandLine(t: Timeline, b: Band, params: Params, trace: TraceInfo,
                  keysOf: KeysOf) {
    if (b.others !== undefined) return othersOf(b.others);
    if (b.thread !== undefined) {
        const index = String(b.thread);
        return { name: clean(threadName(trace, index)),
                 ...toggling(params, keysOf("thread"), index) };
    }
    if (b.module !== undefined)
        return { name: fileOf(b.module) || "[unknown]",
                 title: clean(b.module),
                 ...(b.module && toggling(params, keysOf("inmodule"),
                                          "=" + b.module)) };
    const fn = t.functions?.[b.function as number];
    return { name: shortOf(fn), title: nameOf(fn),
             ...(fn?.name && toggling(params, keysOf("in"), "=" + fn.name,
                                      () => pick({ fn }))) };
}

/* The bands of what passes, the first at the ground; inks are one more than
 * bands may be, the last is that of the others. */
export function bandLines(t: Timeline, params: Params, trace: TraceInfo,
                          inks: readonly string[],
                          keysOf: KeysOf = (key) => [key]): Line[] {
    return (t.bands ?? []).map((b, i) => {
        const ink = inks[b.others === undefined ? i : inks.length - 1] ?? "";
        return { ...bandLine(t, b, params, trace, keysOf), ink, fill: ink,
                 isBand: true, values: drawn(t, b.values, t.part_of) };
    });
}

const sumOf = (list: Values) => list.reduce<number>((s, v) => s + (v ?? 0), 0);

/* Bands of two sides. A colour is one name's on both: they go to those that
 * have most on both together, the rest of each side is one band. */
export function bandLinesOfBoth(sides: Line[][],
                                inks: readonly string[]): Line[][] {
    const last = inks.length - 1;
    const nameOf_ = (l: Line) => l.others === undefined
        ? l.title ?? l.name : undefined;
    const has = new Map<string | undefined, number>();
    for (const line of sides.flat())
        has.set(nameOf_(line), (has.get(nameOf_(line)) ?? 0) +
            sumOf(line.values));
    has.delete(undefined);
    const names = [...has].sort((a, b) => b[1] - a[1]).slice(0, last)
        .map(([name]) => name);
    return sides.map((lines) => {
        const placed = lines.map((line) => ({
            line, at: names.indexOf(nameOf_(line)) }));
        const rest = placed.filter((p) => p.at < 0).map((p) => p.line);
        const bands = placed.filter((p) => p.at >= 0)
            .sort((a, b) => a.at - b.at).map(({ line, at }) => {
                const ink = inks[at] as string;
                return { ...line, ink, fill: ink };
            });
        const [first] = rest;
        if (!first) return bands;
        const ink = inks[last] as string;
        return [...bands, {
            ...othersOf(rest.reduce((n, l) => n + (l.others ?? 1), 0)),
            ink, fill: ink, isBand: true,
            values: first.values.map((v, i) => v === null ? null
                : rest.reduce((s, l) => s + (l.values[i] ?? 0), 0)),
        }];
    });
}

/* Where each band ends: on top of those before it. */
export function tops(lines: Line[]): Map<Line, Values> {
    const sums = new Map<Line, Values>();
    let below: Values = [];
    for (const line of lines)
        if (line.isBand)
            sums.set(line, below = line.values.map((v, i) =>
                v === null ? null : v + (below[i] ?? 0)));
    return sums;
}

/* The band at a value of a step. */
export function bandAt(lines: Line[], step: number, value: number):
    Line | undefined {
    for (const [line, top] of tops(lines))
        if (value >= 0 && value <= (top[step] ?? -1) &&
            (line.values[step] ?? 0) > 0)
            return line;
    return undefined;
}
