/* selection.ts -- the function that was picked last, in whichever view
 *
 * It stays at the foot of the page with what can be done about it: the same
 * keys work wherever it was picked. */

import type { Func } from "./answers";
import { copy, copyRow, stackText } from "./copy";
import type { Params } from "./state";
import { all, go, now } from "./state";
import { FRAGMENT_MOST } from "./flame_model";
import { store } from "./store";

export interface Picked {
    fn: Func;
    line?: number;
    fragment?: number[]; /* the path it was picked on, outermost first */
    stack?: readonly (readonly [Func | undefined, number?])[]; /* the same */
}

export const picked = store<Picked | undefined>(undefined);

export const pick = (p: Picked | undefined) => picked.set(p);

/* The values of a key that may repeat, with one more. */
export const added = (params: Params, key: string, value: string) => {
    const values = all(params, key);
    return values.includes(value) ? values : [...values, value];
};

/* A frame may stand for a whole module, directory or thread. */
const isOne = (p: Picked) => p.fn.whole === undefined;

function inside(not: "" | "not", fn: Func) {
    const [of, text] = fn.whole === "module" ? ["module", "=" + fn.module]
        : fn.whole === "directory" ? ["file", fn.file + "/"]
        : ["", "=" + fn.name];
    const key = `${not}in${of}`;
    go({ [key]: added(now(), key, text as string) });
}

export const focusOn = (ids: number[]) =>
    go({ view: "flame", focus: ids.slice(-FRAGMENT_MOST).join(",") });

export interface Action {
    key: string;
    needsId?: boolean; /* the function's number in the trace that is shown */
    isThere?: (p: Picked) => boolean;
    label: string;
    title: string;
    run: (p: Picked) => void;
}

export const actionsFor = (p: Picked) =>
    ACTIONS.filter((a) => (!a.needsId || p.fn.id !== null) &&
        (a.isThere?.(p) ?? true));

export const ACTIONS: Action[] = [
    { key: "f", needsId: true, label: "Focus", title: "flame graph of this function: its " +
        "callers and its callees",
      run: (p) => focusOn(p.fragment ?? [p.fn.id as number]) },
    { key: "b", needsId: true, isThere: isOne, label: "Callers, callees",
      title: "tables of both",
      run: (p) => go({ view: "functions", fn: String(p.fn.id) }) },
    { key: "i", label: "Only inside", title: "keep only samples with it on " +
        "their stack",
      isThere: (p) => p.fn.whole !== "thread",
      run: (p) => inside("", p.fn) },
    { key: "x", label: "Not inside", title: "leave out samples with it on " +
        "their stack",
      isThere: (p) => p.fn.whole !== "thread",
      run: (p) => inside("not", p.fn) },
    { key: "d", label: "Hide frames", title: "take its frames out of stacks",
      isThere: isOne,
      run: (p) => go({ hide: added(now(), "hide", "=" + p.fn.name) }) },
    { key: "m", label: "Fold module", title: "one frame for each run of " +
        "frames of its module",
      isThere: (p) => isOne(p) && p.fn.module !== "",
      run: (p) => go({ fold: added(now(), "fold", "module:=" + p.fn.module) }) },
    { key: "c", label: "Copy name", title: "the whole name, as the trace has it",
      run: (p) => copy(p.fn.name, "name") },
    { key: "s", label: "Copy stack", title: "a line a frame, innermost first",
      isThere: (p) => p.stack !== undefined,
      run: (p) => copy(stackText(p.stack ?? []), "stack") },
    { key: "y", label: "Copy row", title: "tab-separated, figures in full",
      isThere: () => document.querySelector("main table.figures") !== null,
      run: copyRow },
];
