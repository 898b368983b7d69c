/* graph_layout.ts -- places of a call graph's functions, callers above callees
 *
 * In layers: calls that go against the rest are turned around, each function
 * stands below all that call it, and a call that passes layers has a bend in
 * each. Layers are ordered by the mean place of neighbours, and the order with
 * the fewest crossings is kept; then each function comes as near to the mean of
 * its neighbours as the order lets it. */

export const NODE = { width: 204, height: 42 };
const BETWEEN = { x: 22, y: 44, bend: 14 };
const SWEEPS = 12;

export interface Layout {
    width: number;
    height: number;
    x: number[]; /* middles, by node */
    y: number[];
    lines: number[][]; /* by edge: x, y of its ends and bends, from caller */
}

type Edge = readonly number[];

/* Whether each edge goes against the others: to where a walk is already. */
function backward(n: number, edges: readonly Edge[]): boolean[] {
    const out: number[][] = Array.from({ length: n }, () => []);
    const inward = new Array<number>(n).fill(0);
    edges.forEach(([a, b], e) => {
        out[a as number]?.push(e);
        inward[b as number]!++;
    });
    const state = new Array<number>(n).fill(0); /* 1: on the way, 2: done */
    const turned = edges.map(([a, b]) => a === b);
    const walk = (a: number) => {
        state[a] = 1;
        for (const e of out[a] as number[]) {
            const b = edges[e]?.[1] as number;
            if (state[b] === 1) turned[e] = true;
            else if (state[b] === 0) walk(b);
        }
        state[a] = 2;
    };
    for (const first of [true, false])
        for (let i = 0; i < n; i++)
            if (state[i] === 0 && (inward[i] === 0 || !first)) walk(i);
    return turned;
}

/* The layer of each node: below all above it, and no farther than needed. */
function ranks(n: number, pairs: readonly Edge[]): number[] {
    const rank = new Array<number>(n).fill(0);
    for (let i = 0, moved = true; moved && i <= n; i++) {
        moved = false;
        for (const [a, b] of pairs)
            if ((rank[b!] as number) <= (rank[a!] as number)) {
                rank[b!] = (rank[a!] as number) + 1;
                moved = true;
            }
    }
    for (let i = 0; i < n; i++) {
        if (pairs.some(([, b]) => b === i)) continue;
        const below = pairs.filter(([a]) => a === i)
            .map(([, b]) => rank[b!] as number);
        if (below.length > 0) rank[i] = Math.min(...below) - 1;
    }
    return rank;
}

/* Of neighbours in layers one apart: those above and those below each. */
interface Net {
    up: number[][];
    down: number[][];
}

const mean = (list: number[], of: number[], otherwise: number) =>
    list.length === 0 ? otherwise
        : list.reduce((s, i) => s + (of[i] as number), 0) / list.length;

function crossings(layers: number[][], place: number[], net: Net): number {
    let n = 0;
    for (const layer of layers) {
        const ends = layer.flatMap((i) => (net.down[i] as number[])
            .map((k) => place[k] as number).sort((a, b) => a - b));
        for (let i = 0; i < ends.length; i++)
            for (let k = 0; k < i; k++)
                if ((ends[k] as number) > (ends[i] as number)) n++;
    }
    return n;
}

function order(layers: number[][], net: Net, n: number): number[][] {
    const place = new Array<number>(n).fill(0);
    const number = (layer: number[]) =>
        layer.forEach((i, at) => place[i] = at);
    layers.forEach(number);
    let best = layers.map((l) => [...l]);
    let least = crossings(layers, place, net);
    for (let s = 0; s < SWEEPS && least > 0; s++) {
        const near = s % 2 === 0 ? net.up : net.down;
        for (const layer of s % 2 === 0 ? layers : [...layers].reverse()) {
            const key = new Map(layer.map((i) =>
                [i, mean(near[i] as number[], place, place[i] as number)]));
            layer.sort((a, b) => (key.get(a) as number) -
                (key.get(b) as number));
            number(layer);
        }
        const now = crossings(layers, place, net);
        if (now < least) {
            least = now;
            best = layers.map((l) => [...l]);
        }
    }
    return best;
}

/* As near to the wishes as the order and the widths let: neighbours that would
 * be too near move together to the mean of their wishes. */
function settle(layer: number[], wish: number[], wide: number[], x: number[]) {
    const at: number[] = []; /* from the layer's left end */
    layer.forEach((i, k) => at.push(k === 0 ? 0 : (at[k - 1] as number) +
        ((wide[layer[k - 1] as number] as number) + (wide[i] as number)) / 2));
    const blocks: { sum: number; n: number }[] = [];
    layer.forEach((i, k) => {
        let block = { sum: (wish[i] as number) - (at[k] as number), n: 1 };
        for (let last = blocks.at(-1); last !== undefined &&
             last.sum / last.n > block.sum / block.n; last = blocks.at(-1)) {
            block = { sum: block.sum + last.sum, n: block.n + last.n };
            blocks.pop();
        }
        blocks.push(block);
    });
    let k = 0;
    for (const { sum, n } of blocks)
        for (let i = 0; i < n; i++, k++)
            x[layer[k] as number] = sum / n + (at[k] as number);
}

export function layout(n: number, edges: readonly Edge[]): Layout {
    const turned = backward(n, edges);
    const pairs = edges.flatMap(([a, b], e) => a === b ? []
        : [turned[e] ? [b!, a!] : [a!, b!]]);
    const rank = ranks(n, pairs);
    const layers: number[][] = [];
    const net: Net = { up: [], down: [] };
    const add = (layer: number, i: number) => {
        (layers[layer] ??= []).push(i);
        net.up[i] = [];
        net.down[i] = [];
    };
    for (let i = 0; i < n; i++) add(rank[i] as number, i);
    let total = n;
    const ways = edges.map(([a, b], e) => {
        const way = turned[e] ? [b!] : [a!];
        const end = turned[e] ? a! : b!;
        if (a === b) return way;
        for (let r = (rank[way[0]!] as number) + 1; r < rank[end]!; r++) {
            add(r, total);
            way.push(total++);
        }
        way.push(end);
        way.slice(1).forEach((to, i) => {
            net.down[way[i]!]?.push(to);
            net.up[to]?.push(way[i]!);
        });
        return turned[e] ? way.reverse() : way;
    });
    const rows = order(Array.from(layers, (l) => l ?? []), net, total);
    const wide = Array.from({ length: total }, (_, i) =>
        i < n ? NODE.width + BETWEEN.x : BETWEEN.bend);
    const x = new Array<number>(total).fill(0);
    rows.forEach((row) => settle(row, x, wide, x));
    for (let s = 0; s < SWEEPS; s++) {
        const near = s % 2 === 0 ? net.up : net.down;
        const both = s > SWEEPS / 2;
        for (const row of s % 2 === 0 ? rows : [...rows].reverse())
            settle(row, x.map((at, i) => mean(both
                ? [...net.up[i] as number[], ...net.down[i] as number[]]
                : near[i] as number[], x, at)), wide, x);
    }
    const left = Math.min(...x.map((at, i) => at - (wide[i] as number) / 2));
    const step = NODE.height + BETWEEN.y;
    const y: number[] = [];
    rows.forEach((row, r) => row.forEach((i) => {
        x[i] = (x[i] as number) - left;
        y[i] = r * step + step / 2;
    }));
    return {
        width: Math.max(...x.map((at, i) => at + (wide[i] as number) / 2)),
        height: rows.length * step, x: x.slice(0, n), y: y.slice(0, n),
        lines: ways.map((way) => way.flatMap((i) =>
            [x[i] as number, y[i] as number])),
    };
}
