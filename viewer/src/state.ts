/* state.ts -- what the page shows, all of it in the part of its address after #
 *
 * The keys of the filter are those of the answers (doc/design/view.md), so the
 * page hands them on as they stand; the rest says how it is looked at. */

import { useEffect, useState } from "preact/hooks";

export type Params = ReadonlyMap<string, readonly string[]>;
export type Changes = Record<string, string | readonly string[] | undefined>;

export const TIME_KEYS = ["alloc", "live", "freed", "life"] as const;
export const FILTER_KEYS = [
    "t", ...TIME_KEYS, "phase", "size", "heap", "reach", "thread", "domain", "in",
    "infile", "inmodule", "notin", "notinfile", "notinmodule", "site", "node",
    "hide", "fold", "recursion", "threads", "by",
] as const;
export type FilterKey = (typeof FILTER_KEYS)[number];

/* In the order in which they stand in an address. */
const ORDER: string[] = [
    "view", ...FILTER_KEYS, ...FILTER_KEYS.map((k) => "b." + k),
];

export const VIEWS = [
    ["flame", "Flame graph"],
    ["sites", "Sites"],
    ["tree", "Tree"],
    ["graph", "Graph"],
    ["functions", "Functions"],
    ["hot", "Hot paths"],
    ["heat", "Size × lifetime"],
    ["samples", "Samples"],
    ["diff", "Compare"],
    ["trace", "Trace"],
] as const;
export type ViewName = (typeof VIEWS)[number][0];

/* ---- text ------------------------------------------------------------- */

function decoded(text: string): string {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

const encoded = (text: string) =>
    encodeURIComponent(text).replace(/%(2C|3A|2F|3D|40)/g, decodeURIComponent);

export function parse(hash: string): Params {
    const params = new Map<string, string[]>();
    for (const part of hash.replace(/^#/, "").split("&")) {
        if (part === "") continue;
        const at = part.indexOf("=");
        const key = decoded(at < 0 ? part : part.slice(0, at));
        const value = at < 0 ? "" : decoded(part.slice(at + 1));
        params.set(key, [...(params.get(key) ?? []), value]);
    }
    return params;
}

export function format(params: Params): string {
    const rank = (key: string) => {
        const i = ORDER.indexOf(key);
        return i < 0 ? ORDER.length : i;
    };
    return [...params]
        .sort(([a], [b]) => rank(a) - rank(b))
        .flatMap(([key, values]) => values.map((v) =>
            encodeURIComponent(key) + "=" + encoded(v)))
        .join("&");
}

/* ---- reading ---------------------------------------------------------- */

export const one = (params: Params, key: string) => params.get(key)?.[0];
export const all = (params: Params, key: string) => params.get(key) ?? [];

export function change(params: Params, changes: Changes): Params {
    const changed = new Map(params);
    for (const [key, value] of Object.entries(changes)) {
        if (value === undefined || value === "" || value.length === 0)
            changed.delete(key);
        else
            changed.set(key, typeof value === "string" ? [value] : value);
    }
    return changed;
}

/* The filter of one side, "" or "b.", as the answers want it; keys that are in
 * `without` are left out. */
export function filterOf(params: Params, side: "" | "b." = "",
                         without: readonly string[] = []): string {
    const keys = FILTER_KEYS.filter((k) => !without.includes(k));
    return format(new Map(keys.flatMap((k) => {
        const values = params.get(side + k);
        return values ? [[side + k, values] as const] : [];
    })));
}

export function viewOf(params: Params): ViewName {
    const name = one(params, "view");
    return VIEWS.find(([v]) => v === name)?.[0] ?? "flame";
}

export type By = "bytes" | "blocks" | "samples";

export function byOf(params: Params): By {
    const by = one(params, "by");
    return by === "blocks" || by === "samples" ? by : "bytes";
}

export function focusOf(params: Params): number[] {
    return (one(params, "focus") ?? "").split(",").filter((f) => f !== "")
        .map(Number).filter(Number.isInteger);
}

/* ---- ranges ----------------------------------------------------------- */

export interface Range {
    from: number | undefined;
    to: number | undefined;
}

export function parseRange(text: string | undefined): Range | undefined {
    const m = /^(\d*)\.\.(\d*)$/.exec(text ?? "");
    if (!m) return undefined;
    const end = (s: string | undefined) => s ? Number(s) : undefined;
    return { from: end(m[1]), to: end(m[2]) };
}

export function rangeText(r: Range): string | undefined {
    if (r.from === undefined && r.to === undefined) return undefined;
    return `${r.from ?? ""}..${r.to ?? ""}`;
}

/* ---- presets ---------------------------------------------------------- */

export interface Preset {
    name: string;
    title: string;
    keys: Changes;
}

export function presets(length_us: number): Preset[] {
    const none = { alloc: undefined, live: undefined, freed: undefined,
                   life: undefined };
    const long_us = Math.max(1, Math.floor(length_us / 10));
    return [
        { name: "Live at peak", title: "what made up the greatest heap",
          keys: { ...none, live: "peak" } },
        { name: "Leaks", title: "never freed",
          keys: { ...none, live: "end" } },
        { name: "Temporary", title: "freed within a millisecond",
          keys: { ...none, freed: "..", life: "..999" } },
        { name: "Long-lived", title: "alive for a tenth of the trace or longer",
          keys: { ...none, life: `${long_us}..` } },
        { name: "All", title: "everything that was allocated", keys: none },
    ];
}

export const isPreset = (params: Params, preset: Preset) =>
    TIME_KEYS.every((k) => one(params, k) === preset.keys[k]);

/* ---- the address ------------------------------------------------------ */

let current = parse(location.hash);
const listeners = new Set<() => void>();

function moved() {
    current = parse(location.hash);
    for (const listener of [...listeners]) listener();
}

export const now = () => current;

/* How many steps back stay within the page. */
const depth = () => Number(history.state?.depth ?? 0);

export function go(changes: Changes, how: "push" | "replace" = "push") {
    const text = "#" + format(change(current, changes));
    if (text === location.hash) return;
    if (how === "push")
        history.pushState({ depth: depth() + 1 }, "", text);
    else
        history.replaceState(history.state, "", text);
    moved();
}

export const linkTo = (changes: Changes) =>
    "#" + format(change(current, changes));

/* Says whether there was a step back to take. */
export function back(): boolean {
    if (depth() === 0) return false;
    history.back();
    return true;
}

export function useParams(): Params {
    const [params, set] = useState(current);
    useEffect(() => {
        const listener = () => set(current);
        listeners.add(listener);
        listener();
        return () => {
            listeners.delete(listener);
        };
    }, []);
    return params;
}

/* A page that is opened without a wish begins with what made up the peak, or
 * with what its maker wished. */
export function begin(filter = "live=peak") {
    addEventListener("popstate", moved);
    addEventListener("hashchange", moved);
    if (location.hash.length < 2)
        go({ view: "flame", ...Object.fromEntries(parse(filter)) }, "replace");
}
