/* copy.ts -- tables, rows and stacks as text in the clipboard
 *
 * A table is copied as tab-separated values: figures in full, as bytes, counts,
 * shares and microseconds, which its cells carry in data-v. */

import type { Func } from "./answers";
import { clean, nameOf, placeOf } from "./parts";
import { store } from "./store";

/* What was copied last, for a moment. */
export const copied = store("");
const SAID_MS = 2500;
let timer: ReturnType<typeof setTimeout> | undefined;

export function copy(text: string, what: string) {
    const say = (words: string) => {
        copied.set(words);
        clearTimeout(timer);
        timer = setTimeout(() => copied.set(""), SAID_MS);
    };
    const failed = () => say("The browser lets nothing be copied here");
    if (!navigator.clipboard) return failed();
    navigator.clipboard.writeText(text).then(() => say(`Copied: ${what}`),
                                             failed);
}

/* ---- tables ----------------------------------------------------------- */

const flat = (text: string) => clean(text.replace(/\s+/g, " ").trim());

/* A cell with a name has two fields: the whole name, and where it is and who
 * calls it. */
function fieldsOf(cell: HTMLTableCellElement, isName: boolean): string[] {
    const name = cell.querySelector<HTMLElement>(".name");
    const text = (cell.closest("thead") ? cell.dataset["head"] : undefined) ??
        cell.dataset["v"] ?? flat(cell.innerText);
    if (!isName) return [text];
    const code = name?.querySelector<HTMLElement>(".code");
    return code
        ? [code.title || flat(code.textContent ?? ""),
           flat([".place", ".callers"].map((c) => name
               ?.querySelector<HTMLElement>(c)?.title ?? "").join(" "))]
        : [text, cell.closest("thead") ? "Place" : ""];
}

const nameColumn = (table: HTMLTableElement) => {
    const row = [...table.tBodies[0]?.rows ?? []]
        .find((r) => r.querySelector(".name"));
    return row ? [...row.cells].findIndex((c) => c.querySelector(".name")) : -1;
};

const lineOf = (row: HTMLTableRowElement, at: number) => [...row.cells]
    .flatMap((cell, i) => [...fieldsOf(cell, i === at),
                           ...Array<string>(cell.colSpan - 1).fill("")])
    .join("\t");

export function copyRow() {
    const row = document.querySelector<HTMLTableRowElement>("main tr.picked");
    const table = row?.closest("table");
    if (row && table) copy(lineOf(row, nameColumn(table)), "row");
}

export function copyTable(table: HTMLTableElement | null | undefined) {
    if (!table) return;
    const rows = [...table.rows].filter((r) => !r.classList.contains("detail"));
    const at = nameColumn(table);
    const lines = rows.map((row) => lineOf(row, at) + "\n");
    copy(lines.join(""), `table of ${rows.length} lines`);
}

/* ---- stacks ----------------------------------------------------------- */

/* Innermost first, a line a frame; the frames are outermost first. */
export const stackText = (frames: readonly (readonly [Func | undefined,
                                                      number?])[]) =>
    [...frames].reverse().map(([fn, line]) => {
        const place = placeOf(fn, line);
        return nameOf(fn) + (place ? ` (${place})` : "") + "\n";
    }).join("");
