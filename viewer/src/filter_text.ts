/* filter_text.ts -- the filter in words, a piece for each thing it asks */

import type { TraceInfo } from "./answers";
import { REACHES, heapName } from "./answers";
import { durationText, momentText, sizeEntry } from "./format";
import type { Changes, Params } from "./state";
import { all, one, parseRange } from "./state";

export interface Chip {
    text: string;
    without: Changes; /* what takes it away */
}

const moment = (us: number) => momentText(us, us < 1e6 ? 1 : 1000);

function between(text: string, show: (x: number) => string): string {
    const r = parseRange(text);
    if (!r) return text;
    if (r.from === undefined) return `up to ${show(r.to ?? 0)}`;
    if (r.to === undefined) return `${show(r.from)} or more`;
    return r.from === r.to ? show(r.from) : `${show(r.from)} to ${show(r.to)}`;
}

function period(text: string): string {
    const r = parseRange(text);
    if (!r) return text;
    if (r.from === undefined) return `before ${moment(r.to ?? 0)}`;
    if (r.to === undefined) return `after ${moment(r.from)}`;
    return `in ${moment(r.from)} – ${moment(r.to)}`;
}

function live(text: string): string {
    if (text === "peak") return "live at peak";
    if (text === "end") return "never freed";
    return /^\d+$/.test(text) ? `live at ${moment(Number(text))}`
        : `live ${period(text)}`;
}

const quoted = (text: string) =>
    text.startsWith("=") ? text.slice(1)
        : text.startsWith("~") ? `/${text.slice(1)}/` : `…${text}…`;

const SINGLE: Record<string, (text: string) => string> = {
    alloc: (v) => `allocated ${period(v)}`,
    phase: (v) => `phase ${v}`,
    live,
    freed: (v) => v === "never" ? "never freed" : v === ".." ? "freed"
        : `freed ${period(v)}`,
    life: (v) => `lifetime ${between(v, durationText)}`,
    size: (v) => `size ${between(v, sizeEntry)}`,
    node: () => "one call stack",
    reach: (v) => v.split(",").map((c) => REACHES.find(([name]) =>
        name === c)?.[1].toLowerCase() ?? c).join(", "),
    heap: (v) => `heap: ${v.split(",").map(heapName).join(", ")}`,
};

/* With its number in the kernel where that tells it from others. */
export const threadName = (trace: TraceInfo, index: string) => {
    const t = trace.threads.find((u) => String(u.index) === index);
    if (!t?.name) return `thread ${t ? t.tid : index}`;
    return trace.threads.some((u) => u !== t && u.name === t.name)
        ? `${t.name} (${t.tid})` : t.name;
};

export function chips(params: Params, trace: TraceInfo,
                      side: "" | "b." = ""): Chip[] {
    const list: Chip[] = [];
    for (const [key, text] of Object.entries(SINGLE)) {
        const value = one(params, side + key);
        if (value !== undefined)
            list.push({ text: text(value), without: { [side + key]: undefined } });
    }
    const many = (key: string, text: (v: string) => string) => {
        const values = all(params, side + key);
        for (const value of values)
            list.push({ text: text(value), without: {
                [side + key]: values.filter((v) => v !== value) } });
    };
    many("thread", (v) => threadName(trace, v));
    many("domain", (v) => `domain ${v}`);
    for (const [of, words] of [["", ""], ["file", "file "],
                               ["module", "module "]]) {
        many("in" + of, (v) => `inside ${words}${quoted(v)}`);
        many("notin" + of, (v) => `not inside ${words}${quoted(v)}`);
    }
    many("site", (v) => `allocated by ${quoted(v)}`);
    many("hide", (v) => `hide ${quoted(v)}`);
    many("fold", (v) => v === "library:" ? "fold libraries"
        : `fold ${quoted(v)}`);
    return list;
}
