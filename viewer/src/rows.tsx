/* rows.tsx -- the body of a table whose rows can be picked by pointer and keys
 *
 * One row is in the order of Tab, arrows go on from there. */

import { Fragment } from "preact";
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useRef, useState } from "preact/hooks";

const STEPS: Record<string, number> = {
    ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15,
    Home: -1e9, End: 1e9,
};

export function Rows<T>(props: {
    rows: T[];
    keyOf: (row: T, i: number) => string;
    cells: (row: T, i: number) => ComponentChildren;
    onPick: (row: T) => void;
    onEnter?: (row: T) => void;
    detail?: (row: T) => ComponentChildren; /* below the row that is picked */
}) {
    const { rows } = props;
    const body = useRef<HTMLTableSectionElement>(null);
    const [at, setAt] = useState(-1);
    const here = Math.min(Math.max(at, 0), rows.length - 1);

    const pick = (i: number) => {
        setAt(i);
        props.onPick(rows[i] as T);
    };
    const onKey = (e: TargetedKeyboardEvent<HTMLTableSectionElement>) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        if ((e.target as Element).closest(".detail")) return;
        const step = STEPS[e.key];
        const list = [...body.current?.querySelectorAll<HTMLElement>(
            ":scope > tr[tabindex]") ?? []];
        /* Where the focus is, which a reader of screens may have set. */
        const focused = list.indexOf((e.target as Element)
            .closest<HTMLElement>("tr[tabindex]") as HTMLElement);
        const from = focused < 0 ? here : focused;
        if (step !== undefined) {
            const next = Math.max(0, Math.min(rows.length - 1, from + step));
            pick(next);
            list[next]?.focus();
            list[next]?.scrollIntoView({ block: "nearest" });
        } else if (e.key === "Enter") {
            const row = rows[from] as T;
            pick(from);
            props.onEnter?.(row);
        } else {
            return;
        }
        e.preventDefault();
        e.stopPropagation();
    };
    return <tbody ref={body} onKeyDown={onKey}>
        {rows.map((row, i) => <Fragment key={props.keyOf(row, i)}>
            <tr tabIndex={i === here ? 0 : -1}
                class={i === at ? "picked" : ""}
                aria-current={i === at ? "true" : undefined}
                onClick={() => pick(i)}>{props.cells(row, i)}</tr>
            {i === at && props.detail &&
                <tr class="detail">{props.detail(row)}</tr>}
        </Fragment>)}
    </tbody>;
}
