/* marks.tsx -- the program's marks on the time line, and its phases
 *
 * A phase is what came from one mark to the next (doc/design/marks.md): the
 * filter has it by name, and by name and number where a name comes again.
 *
 * .inv.drawn  A line for each mark, one a pixel; a label where it finds room
 *             before the next line that has one. */

import type uPlot from "uplot";
import type { TraceInfo } from "./answers";
import { momentText } from "./format";
import { clean, cutName } from "./parts";
import type { Params } from "./state";
import { go, now, one } from "./state";

export interface Phase {
    name: string;
    key: string; /* what the filter calls it */
    from: number;
    to: number;
}

/* Phases by time; the first one is what came before the first mark. */
export function phasesOf(trace: TraceInfo): Phase[] {
    const begins = [{ us: 0, name: "start" }, ...trace.marks];
    const count = new Map<string, number>();
    for (const { name } of begins) count.set(name, (count.get(name) ?? 0) + 1);
    const seen = new Map<string, number>();
    return begins.map(({ us, name }, i) => {
        const n = (seen.get(name) ?? 0) + 1;
        seen.set(name, n);
        return { name, key: count.get(name) === 1 ? name : `${name}#${n}`,
                 from: us, to: begins[i + 1]?.us ?? trace.end_us };
    });
}

const meant = (p: Phase, wish: string) => p.name === wish || p.key === wish;

/* What a phase is chosen by; what is said of other times goes. */
const choose = (key: string) =>
    go({ phase: key, alloc: undefined, live: undefined, freed: undefined,
         life: undefined });

/* ---- on the time line ------------------------------------------------- */

/* The trace whose marks are drawn; the time line sets it when it is. */
export const drawn: { trace?: TraceInfo } = {};

const css = (name: string) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const LABEL_LEAST = 34; /* px: less room has no label */
const LABEL_MOST = 140;

function lines(u: uPlot, phases: Phase[]) {
    const { ctx, bbox } = u;
    const wish = one(now(), "phase");
    const at = (us: number) => u.valToPos(us / 1e6, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = css("--band-alloc");
    ctx.globalAlpha = 0.16;
    for (const p of phases)
        if (wish !== undefined && meant(p, wish))
            ctx.fillRect(at(p.from), bbox.top,
                         Math.max(at(p.to) - at(p.from), 1), bbox.height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = css("--dim");
    let last = -1;
    for (const p of phases.slice(1)) {
        const x = Math.round(at(p.from));
        if (x !== last)
            ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height);
        last = x;
    }
    ctx.restore();
}

function label(p: Phase, left: number, room: number): HTMLButtonElement {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = cutName(clean(p.name));
    b.title = `phase ${clean(p.key)}, from ${momentText(p.from, 1000)}`;
    b.setAttribute("aria-pressed", String(meant(p, one(now(), "phase") ?? "")));
    b.style.left = `${left}px`;
    b.style.maxWidth = `${Math.min(room, LABEL_MOST)}px`;
    b.addEventListener("click", () => choose(p.key));
    return b;
}

/* Labels are elements above the canvas: they have names and take keys. */
function labels(u: uPlot, layer: HTMLElement, phases: Phase[]) {
    const wide = u.over.clientWidth;
    const at = phases.slice(1)
        .map((p) => ({ p, x: u.valToPos(p.from / 1e6, "x") }))
        .filter(({ x }) => x >= 0 && x <= wide - LABEL_LEAST);
    const key = [wide, one(now(), "phase"),
                 ...at.map(({ p, x }) => p.key + Math.round(x))].join("\n");
    if (layer.dataset.key === key) return;
    layer.dataset.key = key;
    const list: HTMLElement[] = [];
    let free = 0;
    at.forEach(({ p, x }, i) => {
        const room = (at[i + 1]?.x ?? wide) - x - 2;
        if (x < free || room < LABEL_LEAST) return;
        list.push(label(p, x, room));
        free = x + LABEL_LEAST;
    });
    layer.replaceChildren(...list);
}

export function marksPlugin(): uPlot.Plugin {
    const layer = document.createElement("div");
    layer.className = "marks";
    for (const event of ["mousedown", "mouseup", "click", "keydown"])
        layer.addEventListener(event, (e) => e.stopPropagation());
    return { hooks: {
        ready: (u) => { u.over.append(layer); },
        draw: (u) => {
            if (!drawn.trace || drawn.trace.marks.length === 0) return;
            const phases = phasesOf(drawn.trace);
            lines(u, phases);
            labels(u, layer, phases);
        },
    } };
}

/* ---- in the filter ---------------------------------------------------- */

const NAMES_MOST = 200; /* of a list that one still reads */

export function PhaseChoice(props: { params: Params; trace: TraceInfo;
                                     name: string }) {
    const { params, trace, name } = props;
    const value = one(params, name) ?? "";
    const phases = phasesOf(trace);
    const keys = new Map<string, string>();
    for (const p of phases) {
        const n = phases.length > NAMES_MOST ? 0
            : phases.filter((q) => q.name === p.name).length;
        keys.set(p.name, n > 1 ? `${p.name}, all ${n}` : p.name);
        if (n > 1) keys.set(p.key, p.key);
    }
    if (value !== "" && !keys.has(value)) keys.set(value, value);
    return <select aria-label="Phase" value={value}
        onChange={(e) => go({ [name]: e.currentTarget.value })}>
        <option value="">any</option>
        {[...keys].map(([key, text]) =>
            <option key={key} value={key}>{cutName(clean(text))}</option>)}
    </select>;
}
