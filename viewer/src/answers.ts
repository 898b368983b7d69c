/* answers.ts -- what the engine answers: doc/design/view.md is the contract */

import type { Draw, Stack } from "./timeline_lines";

export interface Sum {
    bytes: number;
    bytes_se: number;
    bytes_range: [number, number]; /* the truth is there with 95 % */
    bytes_few: boolean; /* so few samples that the range is said */
    blocks: number;
    blocks_se: number;
    blocks_range: [number, number];
    blocks_few: boolean;
    n: number; /* sampled blocks */
    samples: number;
}

export interface Func {
    id: number | null; /* null: the first side of a difference has it not */
    name: string;
    short?: string; /* of a name that is longer */
    file: string;
    module: string;
    library?: boolean; /* the system's, not the program's own */
    whole?: "module" | "directory" | "thread"; /* it stands for many */
}

export interface Rest {
    rows: number;
    sum: Sum;
}

export interface Thread {
    index: number;
    tid: number;
    name: string;
}

export interface TraceInfo {
    name: string;
    program: string;
    command: string;
    pid: number;
    host: string;
    context: string;
    start_us: number;
    end_us: number;
    word_bits: number;
    rate: number;
    interval_bytes: number;
    is_exact: boolean;
    peak_us: number;
    peak_last_us: number; /* of its moments */
    peak_bytes: number;
    n_rows: number;
    n_left_out: number; /* of the trace's sampled blocks, by chance */
    threads: Thread[];
    domains: number[];
    marks: { us: number; name: string }[]; /* by time */
    marks_left_out: number;
    has_rss: boolean;
    looked: "" | "end" | "exit"; /* when the process was looked through */
    damage: string | null;
    notes: string[];
    total: Sum;
}

/* A trace of malloc counts bytes; others count words of a heap that has parts. */
export const hasHeaps = (t: TraceInfo) => t.word_bits !== 8;

/* Beside a heap, what is outside of it, as `aliquot info` says it. */
export const heapName = (source: string) =>
    source === "malloc" ? "external" : source;

export interface Info {
    traces: TraceInfo[];
    version: string;
}

/* A heap of a process that runs. */
export interface LivePart {
    trace: number | null; /* null: nothing is recorded yet */
    pid: number;
    command: string;
    state: string; /* sampling, exact, starting, stopped, off; "": unknown */
    interval_bytes: number; /* between samples; 0: unknown */
    dropped: number; /* samples */
    lost: number; /* frees */
    trouble: string;
    is_heap: boolean;
    has_control: boolean; /* it can be told to start and to stop */
    is_gone: boolean;
    is_behind: boolean; /* more is recorded than the trace has */
}

export interface Live {
    generation: number; /* of the traces */
    took_us: number; /* to renew them */
    parts: LivePart[]; /* none: no process is watched */
}

/* A part of a line: what it is, and what it has in each step. */
export interface Band {
    function?: number;
    thread?: number; /* its index */
    module?: string;
    others?: number; /* so many that are no band of their own */
    values: number[];
}

export interface Timeline {
    draw: Draw;
    stack: Stack;
    step_us: number;
    end_us: number; /* of the trace: the last step may be shorter */
    all: number[];
    part: number[];
    all_of?: number[]; /* what the temporary bytes are part of */
    part_of?: number[];
    bands?: Band[]; /* add up to `part` */
    functions?: Func[];
    rss: (number | null)[];
    peak_us: number;
    peak_last_us: number; /* of its moments */
    total: Sum;
}

/* function, parent, self, value, standard error, sampled blocks, and the range
 * if it is to be said, else 0 and 0; of a difference also the value, standard
 * error, self and sampled blocks of the second side, and the range is that of
 * the difference */
export type Node = number[];

export interface Tree {
    total: Sum;
    focus: Sum;
    functions: Func[];
    nodes: Node[];
}

/* A function's place in functions, its own, with all it calls, standard error,
 * sampled blocks, and the range as in Node; caller and callee by their places
 * in nodes, what passes, and 1 if functions between them were left out. */
export interface Graph {
    total: Sum;
    focus: Sum;
    functions: Func[];
    nodes: number[][];
    edges: number[][];
    rest: { nodes: number; self: number; edges: number };
}

export interface SiteRow {
    function: number;
    line: number;
    sum: Sum;
    life_us: number;
    id: number;
    callers: number[]; /* with names, of its heaviest stack */
    is_mapping?: boolean; /* mmap's, not malloc's */
}

export interface Sites {
    total: Sum;
    functions: Func[];
    rows: SiteRow[];
    rest: Rest;
}

/* What leads to what was never freed, in the order in which it is shown: of
 * malloc, then of a heap, which knows its pointers. */
export const REACHES = [
    ["lost", "Lost", "no pointer leads to them",
     "no root leads to them: garbage"],
    ["indirect", "Indirectly lost", "only lost blocks lead to them", ""],
    ["possible", "Possibly lost", "pointers into a block, or from old memory",
     ""],
    ["held", "Held", "variables, stacks or registers lead to them",
     "roots lead to them"],
    ["unknown", "Not looked at", "", ""],
] as const;
export type Reached = Partial<Record<(typeof REACHES)[number][0], Sum>>;

export interface ReachAnswer {
    total: Sum;
    reach: Required<Reached>;
    functions: Func[];
    rows: (Omit<SiteRow, "life_us"> & { reach: Reached })[];
    rest: Rest;
}

export interface HeldRow {
    class: (typeof REACHES)[number][0];
    way: { name: string; most: number }[]; /* what holds them first */
    sum: Sum;
    sites: Omit<SiteRow, "life_us">[]; /* the largest */
    n_sites: number;
}

export interface HeldAnswer {
    total: Sum;
    untold: Sum; /* no holder of them is told */
    functions: Func[];
    rows: HeldRow[];
    rest: Rest;
}

export interface GrowthRow {
    function: number;
    line: number;
    id: number;
    callers: number[];
    bytes_per_minute: number;
    bytes_per_minute_se: number;
    sum: Sum;
    is_mapping?: boolean;
}

export interface Growth {
    from_us: number; /* what came before is start-up */
    rows: GrowthRow[];
    rest: number; /* rows that are not listed */
    functions: Func[];
}

export interface Groups {
    total: Sum;
    functions: Func[];
    /* no path: what has less in common; parts: the largest ones' values */
    rows: { path: number[]; sum: Sum; stacks: number;
            parts: [number, number][]; n_parts: number }[];
}

export interface FunctionsAnswer {
    total: Sum;
    functions: Func[];
    rows: { function: number; id: number; self: Sum; all: Sum }[];
    rest: Rest;
}

export interface FunctionAnswer {
    total: Sum;
    functions: Func[];
    function: Func;
    self: Sum;
    all: Sum;
    callers: { id: number; sum: Sum }[];
    callees: { id: number; sum: Sum }[];
    lines: { line: number; sum: Sum }[];
}

export interface Hot {
    total: Sum;
    functions: Func[];
    rows: { path: number[]; sum: Sum }[];
}

export interface Heat {
    total: Sum;
    sizes: number[];
    lives: number[];
    cells: [number, number, number][];
}

export interface Sample {
    at_us: number;
    end_us: number | null;
    promoted_us: number | null;
    bytes: number;
    samples: number;
    thread: number;
    domain: number;
    source: string;
    generation?: number; /* of the chain of realloc it is in; 0: not known */
    chain_us?: number; /* how long that lived */
    site: [number, number];
    node: number; /* of its whole stack: what the filter's `stack` takes */
    stack: [number, number][];
}

export interface Samples {
    n: number;
    total: Sum;
    functions: Func[];
    rows: Sample[];
}

export interface Source {
    path: string;
    from: number;
    lines: string[];
    sums: Record<string, Sum>;
}

export interface DiffRow {
    function: number;
    line: number;
    a: Sum;
    b: Sum;
    delta_bytes: number;
    delta_se: number;
    delta_range: [number, number];
    delta_few: boolean;
    z: number;
    chance: number; /* that as much comes of nothing, given so many rows */
}

export interface Diff {
    a: Sum;
    b: Sum;
    delta_bytes: number;
    delta_se: number;
    delta_range: [number, number];
    delta_few: boolean;
    z: number;
    functions: Func[];
    rows: DiffRow[];
    rest: { rows: number; a: Sum; b: Sum };
}
