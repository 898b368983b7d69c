/* functions.tsx -- all functions; or one, with its callers and its callees */

import type { Func, FunctionAnswer, FunctionsAnswer, Sum, TraceInfo } from
    "./answers";
import { hasNoServer, query, useAnswer } from "./ask";
import { searchQuery } from "./find";
import { total } from "./forest";
import { Cell, ErrCell, FunctionName, Name, Over, Region, Share, SumCells, SumHeads, SumLine,
         Waiting, clean, cutName, errOf, placeOf } from "./parts";
import { Rows } from "./rows";
import { focusOn, pick } from "./selection";
import { SourceView } from "./source";
import type { Sorting } from "./sort";
import { Head, SUM_COLUMNS, sortQuery, sorted, sortingOf, sumFigure } from
    "./sort";
import type { By, Params } from "./state";
import { byOf, filterOf, go, one } from "./state";

/* ---- all -------------------------------------------------------------- */

const COLUMNS = [...SUM_COLUMNS, "self"];

function AllTable(props: { answer: FunctionsAnswer; trace: TraceInfo;
                           params: Params }) {
    const { answer, params } = props;
    const exact = props.trace.is_exact;
    const by = byOf(params);
    const sorting = sortingOf(params, COLUMNS);
    return <>
        <Over><SumLine sum={answer.total} exact={exact} label="Total" /></Over>
        <Region label="Functions">
            <table class="figures">
                <thead><tr>
                    <Head sorting={sorting} column="name" label="Function" />
                    <SumHeads exact={exact} by={by} share="With callees"
                        sorting={sorting} />
                    <Head sorting={sorting} column="self" class="n"
                        label="Its own" />
                </tr></thead>
                <Rows rows={answer.rows} keyOf={(r) => String(r.id)}
                    onPick={(r) => {
                        const fn = answer.functions[r.function];
                        if (fn) pick({ fn });
                    }}
                    onEnter={(r) => go({ fn: String(r.id) })}
                    cells={(r) => <>
                        <th scope="row"><Name q={one(params, "q") ?? ""}
                            fn={answer.functions[r.function]} /></th>
                        <SumCells sum={r.all} whole={answer.total} by={by}
                            exact={exact} />
                        <Cell x={total(r.self, by)} by={by} />
                    </>} />
                <tfoot>
                    {answer.rest.rows > 0 && <tr class="rest">
                        <th scope="row">{answer.rest.rows} more, not listed</th>
                        <td colSpan={exact ? 4 : 6} /></tr>}
                </tfoot>
            </table>
        </Region>
        <p class="under dim">A function that calls itself counts once in a
            stack. Shares of functions that call each other overlap.</p>
    </>;
}

/* ---- one -------------------------------------------------------------- */

function Side(props: { title: string; rows: { id: number; sum: Sum }[];
                       names: Map<number, Func>; whole: Sum; by: By;
                       exact: boolean; sorting: Sorting }) {
    const { names, by, exact, sorting } = props;
    const rows = sorted(props.rows, sorting, (r, column) => column === "name"
        ? names.get(r.id)?.name ?? "" : sumFigure(r.sum, column, by));
    return <section class="side">
        {rows.length === 0 ? <><h3>{props.title}</h3><p class="dim">none</p></>
            : <><Over><h3>{props.title}</h3></Over><Region label={props.title}><table class="figures">
                <thead><tr>
                    <Head sorting={sorting} column="name" label="Function" />
                    <SumHeads exact={exact} by={by} sorting={sorting} />
                </tr></thead>
                <Rows rows={rows} keyOf={(r) => String(r.id)}
                    onPick={(r) => {
                        const fn = names.get(r.id);
                        if (fn) pick({ fn });
                    }}
                    onEnter={(r) => go({ fn: String(r.id) })}
                    cells={(r) => <>
                        <th scope="row"><Name fn={names.get(r.id)} /></th>
                        <SumCells sum={r.sum} whole={props.whole} by={by}
                            exact={exact} />
                    </>} />
            </table></Region></>}
    </section>;
}

function Lines(props: { answer: FunctionAnswer; by: By; exact: boolean;
                        params: Params }) {
    const { answer, by } = props;
    const sorting = sortingOf(props.params, ["line", "value", "error"]);
    const lines = sorted(answer.lines, sorting, (l, column) =>
        column === "line" ? l.line : sumFigure(l.sum, column, by));
    if (answer.lines.length === 0) return null;
    const file = answer.function.file;
    return <section class="side">
        <Over><h3>Lines{file &&
            <span class="dim"> of {cutName(clean(file))}</span>}</h3></Over>
        <Region label="Lines"><table class="figures narrow">
            <thead><tr><Head sorting={sorting} column="line" label="Line" />
                <Head sorting={sorting} column="value" class="n"
                    label={by === "blocks" ? "Blocks"
                        : by === "samples" ? "Samples" : "Bytes"} />
                {!props.exact && <Head sorting={sorting} column="error"
                    label="±" class="n err" />}
                <th scope="col" class="n">Share</th></tr></thead>
            <tbody>{lines.map((l) => <tr key={l.line}>
                <th scope="row">{l.line === 0 ? "unknown"
                    : hasNoServer() ? l.line
                    : <button type="button" class="link"
                        onClick={() => go({ line: String(l.line) })}>{l.line}
                    </button>}</th>
                <Cell x={total(l.sum, by)} by={by} />
                {!props.exact && <ErrCell err={errOf(l.sum, by)} by={by} />}
                <Share part={total(l.sum, by)} of={total(answer.all, by)} />
            </tr>)}</tbody>
        </table></Region>
    </section>;
}

function Butterfly(props: { answer: FunctionAnswer; params: Params;
                            trace: TraceInfo }) {
    const { answer, params } = props;
    const exact = props.trace.is_exact;
    const by = byOf(params);
    const fn = answer.function;
    const names = new Map(answer.functions.map((f) => [f.id as number, f]));
    const line = one(params, "line");
    const common = { names, by, exact, whole: answer.all,
                     sorting: sortingOf(params, SUM_COLUMNS) };
    return <>
        <header class="one">
            <h2><FunctionName fn={fn} /></h2>
            <p class="dim">{placeOf(fn)}</p>
            <p><SumLine sum={answer.all} exact={exact} label="With callees" />
                <SumLine sum={answer.self} exact={exact} label="its own" /></p>
            <p><button type="button" onClick={() =>
                focusOn([fn.id as number])}>
                Flame graph of it</button></p>
        </header>
        <div class="butterfly">
            <Side title="Callers" rows={answer.callers} {...common} />
            <Side title="Callees" rows={answer.callees} {...common} />
        </div>
        <Lines answer={answer} by={by} exact={exact} params={params} />
        {!hasNoServer() && line !== undefined &&
            <SourceView params={params} fn={fn} line={Number(line)}
                trace={props.trace} />}
    </>;
}

export function FunctionsView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const id = one(params, "fn");
    const q = one(params, "q") ?? "";
    const list = useAnswer<FunctionsAnswer>("functions", id !== undefined
        ? null : query(filterOf(params),
                       searchQuery(q),
                       sortQuery(sortingOf(params, COLUMNS))));
    const single = useAnswer<FunctionAnswer>("function", id === undefined
        ? null : query(filterOf(params), `id=${encodeURIComponent(id)}`));
    return <section class={id === undefined ? "view fill" : "view"}>
        {id !== undefined && <div class="tools">
            <button type="button" class="plain" onClick={() =>
                go({ fn: undefined, line: undefined })}>← All functions
            </button></div>}
        {id === undefined
            ? <Waiting asked={list}>{(answer) => <AllTable answer={answer}
                trace={props.trace} params={params} />}</Waiting>
            : <Waiting asked={single}>{(answer) => <Butterfly answer={answer}
                trace={props.trace} params={params} />}</Waiting>}
    </section>;
}
