/* forest.ts -- the nodes of a `tree` answer, with their places
 *
 * Nodes come in pre-order, larger children first, so one pass gives each its
 * depth and its place along the axis: [x0, x1) of the focus's width.  What the
 * answer left out of a node is a box of its own, without a function: the
 * pictures show that something is there. */

import type { Func, Node, Sum } from "./answers";

export interface Forest {
    functions: Func[];
    isUp: boolean; /* children are callers: sites are next to the root */
    n: number; /* boxes: nodes, then the places of what was cut */
    n_nodes: number;
    fn: Int32Array; /* position in functions; -1: cut */
    parent: Int32Array; /* -1: the root */
    depth: Int32Array;
    x0: Float64Array;
    x1: Float64Array;
    self: Float64Array;
    value: Float64Array;
    error: Float64Array;
    low: Float64Array; /* to high: if it is to be said, else 0 to 0 */
    high: Float64Array;
    samples: Float64Array;
    bValue: Float64Array | undefined; /* the second side of a difference */
    bError: Float64Array | undefined;
    bSamples: Float64Array | undefined;
    levels: number[][]; /* boxes by depth, from left to right */
    children: Map<number, number[]>;
    cut: number; /* in all */
}

/* A cut below this share of the width would not be seen. */
const SEEN = 0.0002;

function columns(n: number) {
    const f = () => new Float64Array(n);
    return { parent: new Int32Array(n), depth: new Int32Array(n), x0: f(),
             x1: f(), self: f(), value: f(), error: f(), low: f(),
             high: f(), samples: f() };
}

/* `width` gives what a node's box is as wide as: additive over children. */
export function plant(functions: Func[], nodes: Node[], isUp: boolean,
                      width: (node: Node) => number = (d) => d[3] as number,
                      selfWidth: (node: Node) => number = (d) =>
                          d[2] as number): Forest {
    const most = 2 * nodes.length;
    const c = columns(most);
    const fn = new Int32Array(most).fill(-1);
    const isDiff = nodes.some((d) => d.length > 8);
    const cursor = new Float64Array(nodes.length); /* where the next child is */
    const wide = nodes.map(width);
    const whole = wide[0] || 1;
    const children = new Map<number, number[]>();

    nodes.forEach((d, i) => {
        const parent = i === 0 ? -1 : d[1] as number;
        fn[i] = d[0] as number;
        c.parent[i] = parent;
        c.self[i] = d[2] as number;
        c.value[i] = d[3] as number;
        c.error[i] = d[4] as number;
        c.samples[i] = d[5] as number;
        c.low[i] = d[6] as number;
        c.high[i] = d[7] as number;
        c.depth[i] = i === 0 ? 0 : (c.depth[parent] as number) + 1;
        c.x0[i] = i === 0 ? 0 : cursor[parent] as number;
        c.x1[i] = (c.x0[i] as number) + (wide[i] as number) / whole;
        cursor[i] = c.x0[i] as number;
        if (parent < 0) return;
        cursor[parent] = c.x1[i] as number;
        const list = children.get(parent);
        if (list) list.push(i);
        else children.set(parent, [i]);
    });

    let n = nodes.length;
    let cut = 0;
    nodes.forEach((d, i) => {
        const end = c.x1[i] as number;
        const from = cursor[i] as number;
        const share = end - from - selfWidth(d) / whole;
        if (share * whole > 0.5) cut += share * whole;
        if (share < SEEN) return;
        c.parent[n] = i;
        c.depth[n] = (c.depth[i] as number) + 1;
        c.x0[n] = from;
        c.x1[n] = from + share;
        c.value[n] = share * whole;
        n++;
    });

    const forest: Forest = {
        functions, isUp, n, n_nodes: nodes.length, fn, ...c, children, cut,
        levels: [],
        bValue: isDiff ? Float64Array.from(nodes, (d) => d[8] ?? 0) : undefined,
        bSamples: isDiff ? Float64Array.from(nodes, (d) => d[11] ?? 0)
            : undefined,
        bError: isDiff ? Float64Array.from(nodes, (d) => d[9] ?? 0) : undefined,
    };
    forest.levels = levelsOf(forest);
    return forest;
}

function levelsOf(f: Forest): number[][] {
    const levels: number[][] = [];
    for (let i = 0; i < f.n; i++) {
        const depth = f.depth[i] as number;
        (levels[depth] ??= []).push(i);
    }
    for (const level of levels)
        level.sort((a, b) => (f.x0[a] as number) - (f.x0[b] as number));
    return levels;
}

/* Functions from the root's child to a box, the root itself left out. */
export function pathTo(f: Forest, box: number): number[] {
    const path: number[] = [];
    for (let i = box; i > 0; i = f.parent[i] as number)
        if ((f.fn[i] as number) >= 0) path.push(f.fn[i] as number);
    return path.reverse();
}

export const total = (sum: Sum, by: "bytes" | "blocks" | "samples") =>
    by === "bytes" ? sum.bytes : by === "blocks" ? sum.blocks : sum.samples;
