/* flame_model.ts -- rows of boxes: callers, the focused fragment, callees
 *
 * The rows of an icicle go from callers above to callees below; those of a
 * flame graph the other way.  Without a focus the middle is one bar for all. */

import type { Forest } from "./forest";
import { pathTo } from "./forest";

export type Part = "callers" | "focus" | "callees";

export interface Row {
    part: Part;
    boxes: number[]; /* of the forest; in the focus: place in the fragment */
}

export interface Model {
    callers: Forest | undefined;
    callees: Forest | undefined;
    fragment: number[]; /* ids, outermost first; empty: all */
    rows: Row[];
    middle: number; /* the first row of the focus */
}

export interface Spot {
    row: number;
    place: number; /* in the row */
}

export function model(callers: Forest | undefined, callees: Forest | undefined,
                      fragment: number[], grows: "up" | "down"): Model {
    const below = (f: Forest | undefined, part: Part): Row[] =>
        (f?.levels.slice(1) ?? []).map((boxes) => ({ part, boxes }));
    const isTurned = fragment.length > 0; /* else sites are at the root */
    const above = below(callers, "callers");
    const rows: Row[] = [
        ...(isTurned ? above.reverse() : []),
        ...(fragment.length > 0 ? fragment.map((_, i) => i) : [0])
            .map((i): Row => ({ part: "focus", boxes: [i] })),
        ...(isTurned ? [] : above),
        ...below(callees, "callees"),
    ];
    if (grows === "up") rows.reverse();
    return { callers, callees, fragment, rows,
             middle: rows.findIndex((r) => r.part === "focus") };
}

export const forestOf = (m: Model, part: Part) =>
    part === "callers" ? m.callers : part === "callees" ? m.callees : undefined;

export function boxAt(m: Model, spot: Spot) {
    const row = m.rows[spot.row];
    const box = row?.boxes[spot.place];
    return row && box !== undefined ? { part: row.part, box } : undefined;
}

export function extent(m: Model, spot: Spot): [number, number] {
    const at = boxAt(m, spot);
    const forest = at && forestOf(m, at.part);
    return at && forest
        ? [forest.x0[at.box] as number, forest.x1[at.box] as number] : [0, 1];
}

/* The place in a row that holds x, or undefined. */
export function hit(m: Model, row: number, x: number): number | undefined {
    const r = m.rows[row];
    if (!r) return undefined;
    const forest = forestOf(m, r.part);
    if (!forest) return 0;
    let low = 0;
    let high = r.boxes.length;
    while (low < high) {
        const mid = (low + high) >> 1;
        if ((forest.x1[r.boxes[mid] as number] as number) <= x) low = mid + 1;
        else high = mid;
    }
    const box = r.boxes[low];
    return box !== undefined && (forest.x0[box] as number) <= x
        ? low : undefined;
}

export type Move = "up" | "down" | "left" | "right";

/* One step: along the row, or to the nearest box of the next row that shares
 * some width; the spot itself where there is none. */
export function step(m: Model, spot: Spot, move: Move): Spot {
    if (move === "left" || move === "right") {
        const place = spot.place + (move === "left" ? -1 : 1);
        return m.rows[spot.row]?.boxes[place] === undefined
            ? spot : { row: spot.row, place };
    }
    const row = spot.row + (move === "up" ? -1 : 1);
    const next = m.rows[row];
    if (!next) return spot;
    const [x0, x1] = extent(m, spot);
    const inside = hit(m, row, x0 + 1e-12);
    if (inside !== undefined) return { row, place: inside };
    const forest = forestOf(m, next.part);
    const place = next.boxes.findIndex((b) => {
        const at = forest ? forest.x0[b] as number : 0;
        return at >= x0 && at < x1;
    });
    return place < 0 ? spot : { row, place };
}

/* What the engine takes for a focus. */
export const FRAGMENT_MOST = 64;

/* What a box stands for with all between it and the focus, as ids, outermost
 * first. Undefined: not all of it is known to the trace. */
export function stackOf(m: Model, spot: Spot): number[] | undefined {
    const at = boxAt(m, spot);
    if (!at) return undefined;
    if (at.part === "focus") return m.fragment.slice(0, at.box + 1);
    const forest = forestOf(m, at.part) as Forest;
    const path: number[] = [];
    for (const f of pathTo(forest, at.box)) {
        const id = forest.functions[f]?.id;
        if (id === undefined || id === null) return undefined;
        path.push(id);
    }
    return at.part === "callees" ? [...m.fragment, ...path]
        : [...path.reverse(), ...m.fragment];
}

/* The same as a focus; of one that is too long the end with the box. */
export function fragmentOf(m: Model, spot: Spot): number[] | undefined {
    const stack = stackOf(m, spot);
    return boxAt(m, spot)?.part === "callers"
        ? stack?.slice(0, FRAGMENT_MOST) : stack?.slice(-FRAGMENT_MOST);
}
