/* calls.tsx -- the lines of the call graph as a table: who calls whom, and what
 * passes */

import type { Func, Graph } from "./answers";
import { total } from "./forest";
import { Cell, Over, Name, Region, Share, SumLine } from "./parts";
import { Rows } from "./rows";
import { focusOn, pick } from "./selection";
import { Head, sorted, sortingOf } from "./sort";
import type { By, Params } from "./state";
import { one } from "./state";

/* Of all, of what its caller has, of what its callee has. */
const COLUMNS = ["value", "name", "callee", "share", "of-caller", "of-callee"];

export function Calls(props: { answer: Graph; params: Params; by: By;
                               exact: boolean }) {
    const { answer, by, params } = props;
    const q = one(params, "q") ?? "";
    const whole = total(answer.focus, by) || 1;
    const sorting = sortingOf(params, COLUMNS);
    const fnAt = (i: number): Func | undefined =>
        answer.functions[answer.nodes[i]?.[0] ?? -1];
    const hasAt = (i: number) => answer.nodes[i]?.[2] || 1;
    const figure = (e: number[], column: string) => {
        const [a, b, v] = e as [number, number, number];
        return column === "name" ? fnAt(a)?.name ?? ""
            : column === "callee" ? fnAt(b)?.name ?? ""
            : column === "of-caller" ? v / hasAt(a)
            : column === "of-callee" ? v / hasAt(b) : v;
    };
    const rows = sorted([...answer.edges].sort((x, y) => y[2]! - x[2]!),
                        sorting, figure);
    return <>
        <Over><SumLine sum={answer.focus} exact={props.exact} label="Total" />
        </Over>
        <Region label="Calls"><table class="figures calls">
            <thead><tr>
                <Head sorting={sorting} column="name" label="Caller" />
                <Head sorting={sorting} column="callee" label="Callee" />
                <Head sorting={sorting} column="value" class="n"
                    label={by === "bytes" ? "Bytes"
                        : by === "blocks" ? "Blocks" : "Samples"} />
                <Head sorting={sorting} column="share" class="n"
                    label="Share" />
                <Head sorting={sorting} column="of-caller" class="n"
                    label="Of caller" />
                <Head sorting={sorting} column="of-callee" class="n"
                    label="Of callee" />
            </tr></thead>
            <Rows rows={rows} keyOf={(e) => `${e[0]},${e[1]}`}
                onPick={([a, b]) => {
                    const [caller, fn] = [fnAt(a!), fnAt(b!)];
                    if (fn) pick({ fn, ...(caller && { fragment:
                        [caller.id as number, fn.id as number] }) });
                }}
                onEnter={([a, b]) => focusOn([fnAt(a!)?.id as number,
                                              fnAt(b!)?.id as number])}
                cells={([a, b, v, way]) => <>
                    <th scope="row"><Name fn={fnAt(a!)} q={q} /></th>
                    <td class="callee">
                        <span aria-hidden="true">{way ? "⇢" : "→"}</span>
                        {way ? <span class="hidden">by way of others: </span>
                            : null}
                        <Name fn={fnAt(b!)} q={q} /></td>
                    <Cell x={v!} by={by} />
                    <Share part={v!} of={whole} />
                    <Share part={v!} of={hasAt(a!)} most={0} />
                    <Share part={v!} of={hasAt(b!)} most={0} />
                </>} />
        </table></Region>
    </>;
}
