/* tree.tsx -- calls as a table that unfolds, from the program or the sites */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import type { Sum, TraceInfo, Tree } from "./answers";
import { query, useAnswer } from "./ask";
import { Draw, isOwnOf } from "./draw";
import { MIN_SHARE, focusQuery } from "./flame";
import type { Forest } from "./forest";
import { pathTo, plant, total } from "./forest";
import { Cell, Choice, ErrCell, Name, Over, Region, Share, SumLine, Waiting, errAt,
         errOf, saidText } from "./parts";
import { focusOn, pick } from "./selection";
import type { Sorting } from "./sort";
import { Head, sortQuery, sorted, sortingOf } from "./sort";
import type { By, Params } from "./state";
import { byOf, filterOf, focusOf, go, one } from "./state";

/* Rows are unfolded at first as far as one child has most of its parent. */
const MOST = 0.6;

/* Pixels of a level, and of all of them: names keep their room, and figures
 * stay in sight, however deep the calls go. */
const LEVEL_WIDE = 14;
const levelsWide = () => innerWidth / 8;
const NAME_WIDE = 220;

function unfoldedAtFirst(f: Forest): Set<number> {
    const open = new Set<number>([0]);
    let at = f.children.get(0)?.[0];
    let above = f.value[0] as number;
    while (at !== undefined && (f.value[at] as number) > MOST * above) {
        open.add(at);
        above = f.value[at] as number;
        at = f.children.get(at)?.[0];
    }
    return open;
}

/* A row is a node, or (as -1 - node) what was cut below one. */
function rowsOf(f: Forest, open: Set<number>, s: Sorting): number[] {
    const rows: number[] = [];
    const figure = (node: number, column: string) =>
        column === "name" ? f.functions[f.fn[node] as number]?.name ?? ""
        : (column === "error" ? f.error : column === "self" ? f.self
            : column === "sampled" ? f.samples : f.value)[node] as number;
    const walk = (node: number) => {
        for (const child of sorted(f.children.get(node) ?? [], s, figure)) {
            rows.push(child);
            if (open.has(child)) walk(child);
        }
        if (cutBelow(f, node) > 0) rows.push(-1 - node);
    };
    walk(0);
    return rows;
}

function cutBelow(f: Forest, node: number): number {
    let rest = (f.value[node] as number) - (f.self[node] as number);
    for (const child of f.children.get(node) ?? [])
        rest -= f.value[child] as number;
    return rest > 0.5 ? rest : 0;
}

/* Those who call one another keep together: siblings are sorted. */
const COLUMNS = ["value", "name", "error", "self", "sampled"];

interface RowProps {
    f: Forest;
    node: number;
    isOpen: boolean;
    isHere: boolean;
    by: By;
    exact: boolean;
    whole: Sum;
    q: string;
    isOwn: boolean;
    level: number; /* pixels */
    onToggle: () => void;
    onPick: () => void;
}

function TreeRow(props: RowProps) {
    const { f, node, by } = props;
    const isLeaf = (f.children.get(node)?.length ?? 0) === 0 &&
        cutBelow(f, node) === 0;
    const fn = f.functions[f.fn[node] as number];
    const depth = f.depth[node] as number;
    const indent = (depth - 1) * props.level;
    return <tr aria-level={depth} tabIndex={props.isHere ? 0 : -1}
        aria-expanded={isLeaf ? undefined : props.isOpen}
        class={props.isHere ? "picked" : ""} onClick={props.onPick}
        onDblClick={props.onToggle}>
        <th scope="row" style={{ minWidth: `${indent + NAME_WIDE}px` }}>
            <span class="indent" style={{ paddingInlineStart: `${indent}px` }}>
                <span class={isLeaf ? "twist leaf" : "twist"}
                    aria-hidden="true" onClick={(e) => {
                        e.stopPropagation();
                        if (!isLeaf) props.onToggle();
                    }}>{isLeaf ? "" : props.isOpen ? "▾" : "▸"}</span>
                {props.isOwn && <i class={fn?.library ? "lib" : "own"} />}
                <Name fn={fn} q={props.q} />
            </span>
        </th>
        <Cell x={f.value[node] as number} by={by} />
        {!props.exact && <ErrCell err={errAt(f, node)} by={by} />}
        <Share part={f.value[node] as number} of={total(props.whole, by)} />
        <Cell x={f.self[node] as number} by={by} />
        {!props.exact && <Cell x={f.samples[node] as number} by="blocks" dim />}
    </tr>;
}

function CutRow(props: { f: Forest; node: number; by: By; columns: number;
                         level: number }) {
    const { f, node } = props;
    return <tr class="rest" aria-level={(f.depth[node] as number) + 1}>
        <th scope="row"><span class="indent" style={{ paddingInlineStart:
            `${(f.depth[node] as number) * props.level + 18}px` }}>
            smaller paths, not listed</span></th>
        <Cell x={cutBelow(f, node)} by={props.by} />
        {Array.from({ length: props.columns }, (_, i) => <td key={i} />)}
    </tr>;
}

function Table(props: { answer: Tree; params: Params; trace: TraceInfo;
                        isUp: boolean }) {
    const { answer, params, isUp } = props;
    const exact = props.trace.is_exact;
    const by = byOf(params);
    const q = one(params, "q") ?? "";
    const f = useMemo(() => plant(answer.functions, answer.nodes, isUp),
                      [answer]);
    const [open, setOpen] = useState(() => unfoldedAtFirst(f));
    const [here, setHere] = useState(-1);
    const body = useRef<HTMLTableSectionElement>(null);
    useEffect(() => {
        setOpen(unfoldedAtFirst(f));
        setHere(-1);
    }, [f]);
    const sorting = sortingOf(params, COLUMNS);
    const order = sortQuery(sorting);
    const rows = useMemo(() => rowsOf(f, open, sorting), [f, open, order]);
    const at = Math.max(0, rows.indexOf(here));
    const level = Math.min(LEVEL_WIDE, levelsWide() / Math.max(1, ...rows.map(
        (node) => f.depth[node < 0 ? -1 - node : node] as number)));

    const fragment = (node: number) => {
        const path = pathTo(f, node)
            .map((fn) => f.functions[fn]?.id as number);
        const focus = focusOf(params);
        return isUp ? [...path.reverse(), ...focus] : [...focus, ...path];
    };
    const frames = (node: number) => {
        const path = pathTo(f, node).map((fn) => [f.functions[fn]] as const);
        const focus = focusOf(params).map((id) =>
            [answer.functions.find((fn) => fn.id === id)] as const);
        return isUp ? [...path.reverse(), ...focus] : [...focus, ...path];
    };
    const toRow = (i: number) => {
        const node = rows[Math.max(0, Math.min(rows.length - 1, i))];
        if (node === undefined || node < 0) return;
        setHere(node);
        const fn = f.functions[f.fn[node] as number];
        if (fn) pick({ fn, fragment: fragment(node), stack: frames(node) });
    };
    useLayoutEffect(() => { /* before the next key */
        const row = body.current?.rows[rows.indexOf(here)];
        if (here < 0 || !row || !body.current?.contains(document.activeElement))
            return;
        row.focus();
        row.scrollIntoView({ block: "nearest" });
    }, [here]);
    const unfold = (node: number, to: boolean) => {
        const next = new Set(open);
        if (to) next.add(node);
        else next.delete(node);
        setOpen(next);
    };
    const onKey = (e: TargetedKeyboardEvent<HTMLTableSectionElement>) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const node = rows[at] as number;
        const isOpen = open.has(node);
        const parent = f.parent[node] as number;
        const down = (d: number) => {
            let i = at + d;
            while (rows[i] !== undefined && (rows[i] as number) < 0) i += d;
            toRow(i);
        };
        const act: Record<string, () => void> = {
            ArrowDown: () => down(1), j: () => down(1),
            ArrowUp: () => down(-1), k: () => down(-1),
            ArrowRight: () => isOpen ? down(1) : unfold(node, true),
            ArrowLeft: () => isOpen ? unfold(node, false)
                : parent > 0 && toRow(rows.indexOf(parent)),
            " ": () => unfold(node, !isOpen),
            Home: () => toRow(0),
            End: () => toRow(rows.length - 1),
            Enter: () => focusOn(fragment(node)),
        };
        act["l"] = act["ArrowRight"] as () => void;
        act["h"] = act["ArrowLeft"] as () => void;
        if (!act[e.key]) return;
        act[e.key]?.();
        e.preventDefault();
        e.stopPropagation();
    };
    return <>
        <Over><SumLine sum={answer.focus} exact={exact}
            label={focusOf(params).length > 0 ? "In focus" : "Total"} /></Over>
        <Region label={isUp ? "Tree of callers" : "Tree of calls"}>
            <table class="figures" role="treegrid"
                aria-label={isUp ? "Callers" : "Calls"}>
                <thead><tr>
                    <Head sorting={sorting} column="name" label={isUp
                        ? "Site, and who calls it"
                        : "Function, and whom it calls"} />
                    <Head sorting={sorting} column="value" class="n"
                        label={by === "bytes" ? "Bytes"
                            : by === "blocks" ? "Blocks" : "Samples"} />
                    {!exact && <Head sorting={sorting} column="error" label="±"
                        class="n err" />}
                    <th scope="col" class="n">Share</th>
                    <Head sorting={sorting} column="self" class="n"
                        label="Its own" />
                    {!exact && <Head sorting={sorting} column="sampled"
                        class="n" label="Sampled" />}
                </tr></thead>
                <tbody ref={body} onKeyDown={onKey}>
                    {rows.map((node) => node < 0
                        ? <CutRow key={node} f={f} node={-1 - node} by={by}
                            columns={exact ? 2 : 4} level={level} />
                        : <TreeRow key={node} f={f} node={node} by={by}
                            exact={exact} whole={answer.focus} q={q}
                            isOwn={isOwnOf(params)} level={level}
                            isOpen={open.has(node)}
                            isHere={node === (rows[at] ?? -1)}
                            onToggle={() => unfold(node, !open.has(node))}
                            onPick={() => toRow(rows.indexOf(node))} />)}
                </tbody>
                <tfoot><tr class="whole"><th scope="row">Total</th>
                    <Cell x={total(answer.focus, by)} by={by} />
                    {!exact && <ErrCell err={errOf(answer.focus, by)}
                        by={by} />}
                    <td /><td />
                    {!exact && <Cell x={answer.focus.n} by="blocks" dim />}
                </tr></tfoot>
            </table>
        </Region>
        {f.cut > 0 && <p class="under dim">Not listed: paths below{" "}
            {MIN_SHARE * 100}% of the total, {saidText(f.cut, by)} in all.</p>}
    </>;
}

export function TreeView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const isUp = one(params, "dir") === "up";
    const focus = focusOf(params);
    const asked = useAnswer<Tree>("tree", query(filterOf(params),
        `min=${MIN_SHARE}`, `dir=${isUp ? "up" : "down"}`,
        focusQuery(focus)));
    return <section class="view fill">
        <div class="tools">
            <Choice label="Direction" value={isUp ? "up" : "down"}
                options={[["down", "Top-down"], ["up", "Bottom-up"]]}
                onPick={(d) => go({ dir: d === "up" ? "up" : undefined })} />
            <Draw params={params} trace={props.trace} />
            {focus.length > 0 && <button type="button" class="plain"
                onClick={() => go({ focus: undefined })}>Leave the focus
            </button>}
        </div>
        <Waiting asked={asked}>{(answer) =>
            <Table answer={answer} params={params} trace={props.trace}
                isUp={isUp} />}</Waiting>
    </section>;
}
