/* hot.tsx -- the heaviest paths, none of them part of another */

import type { Func, Hot, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { FunctionName, Over, Region, SumCells, SumHeads, SumLine, Waiting } from
    "./parts";
import { Rows } from "./rows";
import { focusOn, pick } from "./selection";
import { SUM_COLUMNS, sorted, sortingOf, sumFigure } from "./sort";
import type { Params } from "./state";
import { byOf, filterOf } from "./state";

/* The ends of a path say most. */
const SHOWN = 8;

export function Path(props: { path: (Func | undefined)[] }) {
    const { path } = props;
    const left = path.length - SHOWN;
    const shown: (Func | string | undefined)[] = left > 1
        ? [...path.slice(0, SHOWN / 2), `… ${left} more …`,
           ...path.slice(-SHOWN / 2)] : path;
    return <span class="path">{shown.map((fn, i) => <span key={i}>
        {i > 0 && <span class="dim"> › </span>}
        {typeof fn === "string" ? <span class="dim">{fn}</span>
            : <FunctionName fn={fn}
                class={i === shown.length - 1 ? "code last" : "code"} />}
    </span>)}</span>;
}

function Table(props: { answer: Hot; params: Params; trace: TraceInfo }) {
    const { answer } = props;
    const exact = props.trace.is_exact;
    const by = byOf(props.params);
    const sorting = sortingOf(props.params, SUM_COLUMNS.filter((c) =>
        c !== "name"));
    const ids = (path: number[]) =>
        path.map((f) => answer.functions[f]?.id as number);
    return <>
        <Over><SumLine sum={answer.total} exact={exact} label="Total" /></Over>
        <Region label="Hot paths"><table class="figures">
            <thead><tr><th scope="col">Path, callers first</th>
                <SumHeads exact={exact} by={by} sorting={sorting} /></tr>
            </thead>
            <Rows rows={sorted(answer.rows, sorting, (r, column) =>
                sumFigure(r.sum, column, by))} keyOf={(r) => r.path.join()}
                onPick={(r) => {
                    const fn = answer.functions[r.path.at(-1) as number];
                    if (fn) pick({ fn, fragment: ids(r.path), stack: r.path
                        .map((f) => [answer.functions[f]] as const) });
                }}
                onEnter={(r) => focusOn(ids(r.path))}
                cells={(r) => <>
                    <th scope="row"><Path path={r.path.map((f) =>
                        answer.functions[f])} /></th>
                    <SumCells sum={r.sum} whole={answer.total} by={by}
                        exact={exact} />
                </>} />
        </table></Region>
        <p class="under dim">Paths share callers, so their shares do not add
            up. Enter or Focus opens one in the flame graph.</p>
    </>;
}

export function HotView(props: { params: Params; trace: TraceInfo }) {
    const asked = useAnswer<Hot>("hot", query(filterOf(props.params)));
    return <section class="view fill">
        <Waiting asked={asked}>{(answer) =>
            answer.rows.length === 0
                ? <><p class="over"><SumLine sum={answer.total} label="Total"
                    exact={props.trace.is_exact} /></p>
                    <p class="dim">No path stands out.</p></>
                : <Table answer={answer} params={props.params}
                    trace={props.trace} />}</Waiting>
    </section>;
}
