/* sort.tsx -- heads of columns that sort a table: the key `sort` of the address
 *
 * A column's name stands there, with "-" before it the other way round: names go
 * up and figures down until then. The engine sorts what it cuts; tables that have
 * all of their rows are sorted here. */

import type { Sum } from "./answers";
import { total } from "./forest";
import type { By, Params } from "./state";
import { go, one } from "./state";

export interface Sorting {
    key: string; /* of the address */
    columns: readonly string[]; /* the first is the table's own order */
    column: string;
    isReversed: boolean;
}

/* What the address says, where this table has such a column. */
export function sortingOf(params: Params, columns: readonly string[],
                          key = "sort"): Sorting {
    const text = one(params, key) ?? "";
    const isReversed = text.startsWith("-");
    const column = isReversed ? text.slice(1) : text;
    return columns.includes(column) ? { key, columns, column, isReversed }
        : { key, columns, column: columns[0] as string, isReversed: false };
}

const textOf = (s: Sorting) => (s.isReversed ? "-" : "") + s.column;

export const sortQuery = (s: Sorting) =>
    textOf(s) === s.columns[0] ? "" : `${s.key}=${textOf(s)}`;

/* Columns whose own direction is up. */
const UP = new Set(["name", "callee", "time", "line", "source", "thread"]);

export function Head(props: { column: string; label: string; title?: string;
                              sorting: Sorting | undefined; class?: string }) {
    const { sorting: s, column, label } = props;
    if (!s?.columns.includes(column))
        return <th scope="col" class={props.class} title={props.title}>{label}
        </th>;
    const isHere = s.column === column;
    const isUp = UP.has(column) !== (isHere && s.isReversed);
    const next = textOf({ ...s, column, isReversed: isHere && !s.isReversed });
    return <th scope="col" class={props.class} title={props.title}
        aria-sort={!isHere ? undefined : isUp ? "ascending" : "descending"}>
        <button type="button" class="sort" onClick={() => go({
            [s.key]: next === s.columns[0] ? undefined : next,
            offset: undefined })}>{label}</button></th>;
}

/* ---- tables that are whole -------------------------------------------- */

export const SUM_COLUMNS = ["value", "name", "error", "bytes", "blocks",
                            "sampled"] as const;

export const sumFigure = (s: Sum, column: string, by: By): number =>
    column === "error" ? by === "blocks" ? s.blocks_se
        : by === "bytes" ? s.bytes_se : 0
    : column === "bytes" ? s.bytes : column === "blocks" ? s.blocks
    : column === "sampled" ? s.n : total(s, by);

/* Rows as they were where the column tells nothing. */
export function sorted<T>(rows: readonly T[], s: Sorting,
                          of: (row: T, column: string) => number | string): T[] {
    if (sortQuery(s) === "") return [...rows];
    const sign = UP.has(s.column) !== s.isReversed ? 1 : -1;
    return [...rows].sort((a, b) => {
        const [x, y] = [of(a, s.column), of(b, s.column)];
        return x < y ? -sign : x > y ? sign : 0;
    });
}
