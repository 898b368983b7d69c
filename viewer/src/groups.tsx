/* groups.tsx -- call stacks by the longest beginning that many share */

import type { Groups, Sum, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { Path } from "./hot";
import { FunctionName, Over, Region, SumCells, SumHeads, SumLine, Waiting,
         mostOf, valueText } from "./parts";
import { Rows } from "./rows";
import { focusOn, pick } from "./selection";
import type { By, Params } from "./state";
import { byOf, filterOf } from "./state";

function Parts(props: { answer: Groups; row: Groups["rows"][number]; by: By }) {
    const { answer, row, by } = props;
    const more = row.n_parts - row.parts.length;
    return <span class="parts">
        {row.parts.map(([fn, value], i) => <span key={i}>
            <span class="dim">{i === 0 ? "→ " : ", "}{valueText(value, by)}{" "}
            </span><FunctionName fn={answer.functions[fn]} /></span>)}
        {more > 0 && <span class="dim">, {more} more</span>}
    </span>;
}

function Table(props: { answer: Groups; params: Params; exact: boolean }) {
    const { answer, exact } = props;
    const by = byOf(props.params);
    const sums: Sum[] = answer.rows.map((r) => r.sum);
    const ids = (path: number[]) =>
        path.map((f) => answer.functions[f]?.id as number);
    return <>
        <Over><SumLine sum={answer.total} exact={exact} label="Total" /></Over>
        <Region label="Groups of call stacks"><table class="figures">
            <thead><tr>
                <th scope="col">In common, callers first, then where they
                    part</th>
                <SumHeads exact={exact} by={by} />
                <th scope="col" class="n">Stacks</th>
            </tr></thead>
            <Rows rows={answer.rows} keyOf={(_, i) => String(i)}
                onPick={(r) => {
                    const fn = answer.functions[r.path.at(-1) as number];
                    if (fn) pick({ fn, fragment: ids(r.path), stack: r.path
                        .map((f) => [answer.functions[f]] as const) });
                }}
                onEnter={(r) => r.path.length > 0 && focusOn(ids(r.path))}
                cells={(r) => <>
                    <th scope="row">{r.path.length === 0
                        ? <span class="dim">others, less in common</span>
                        : <><Path path={r.path.map((f) =>
                            answer.functions[f])} />
                            <Parts answer={answer} row={r} by={by} /></>}</th>
                    <SumCells sum={r.sum} whole={answer.total} by={by}
                        exact={exact} most={mostOf(sums, by)} />
                    <td class="n">{r.stacks}</td>
                </>} />
        </table></Region>
        <p class="under dim">Each call stack is in one group: that of its longest
            beginning of 5% of the total or more, without those of longer
            ones.</p>
    </>;
}

export function GroupsTable(props: { params: Params; trace: TraceInfo }) {
    const asked = useAnswer<Groups>("groups", query(filterOf(props.params)));
    return <Waiting asked={asked}>{(answer) =>
        <Table answer={answer} params={props.params}
            exact={props.trace.is_exact} />}</Waiting>;
}
