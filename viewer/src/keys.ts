/* keys.ts -- keys that work wherever the focus is, except in fields */

import type { TraceInfo } from "./answers";
import { copyTable } from "./copy";
import { formIsOpen } from "./filters";
import { helpIsOpen } from "./help";
import { more } from "./more";
import { actionsFor, picked } from "./selection";
import { focusWish } from "./timeline";
import { VIEWS, back, focusOf, go, isPreset, now, presets } from "./state";

const isField = (target: EventTarget | null) => target instanceof Element &&
    target.matches("input:not([type=checkbox]), select, textarea");

const focusFirst = (selector: string) =>
    document.querySelector<HTMLElement>(selector)?.focus();

function nextPreset(trace: TraceInfo | undefined) {
    const list = presets(trace?.end_us ?? 0);
    const at = list.findIndex((p) => isPreset(now(), p));
    const next = list[(at + 1) % list.length];
    if (next) go(next.keys);
}

function retract(end: "outer" | "inner") {
    const focus = focusOf(now());
    const left = end === "outer" ? focus.slice(1) : focus.slice(0, -1);
    if (focus.length > 0) go({ focus: left.join(",") });
}

function toTimeline() {
    if (document.getElementById("timeline")) return focusFirst("#timeline");
    focusWish.on = true;
    go({ top: "full" }, "replace");
}

export function onKey(e: KeyboardEvent, trace: TraceInfo | undefined) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    if (isField(e.target)) {
        if (e.key === "Escape") (e.target as HTMLElement).blur();
        return;
    }
    const view = /^\d$/.test(e.key) ? VIEWS[(Number(e.key) + 9) % 10]
        : undefined;
    const chosen = picked.get();
    const action = chosen &&
        actionsFor(chosen).find((a) => a.key === e.key);
    const act: Record<string, () => void> = {
        "?": () => helpIsOpen.set(true),
        "/": () => focusFirst("#search"),
        t: toTimeline,
        g: () => focusFirst(".view .flame, .view .node[tabindex='0'], .view tr[tabindex='0'], " +
            ".view .heat button[tabindex='0']"),
        Y: () => copyTable(document.querySelector<HTMLTableElement>(
            "main table.figures")),
        e: () => formIsOpen.set(!formIsOpen.get()),
        p: () => nextPreset(trace),
        "[": () => retract("outer"),
        "]": () => retract("inner"),
        Backspace: () => back(),
        H: () => {
            const extra = more.get();
            if (extra) go({ view: extra.name });
        },
        Escape: () => picked.set(undefined),
    };
    if (view) go({ view: view[0] });
    else if (action) action.run(chosen);
    else if (act[e.key]) act[e.key]?.();
    else return;
    e.preventDefault();
}
