/* source.tsx -- lines of a source file, with what each allocated */

import { useEffect, useRef } from "preact/hooks";
import type { Func, Source, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { total } from "./forest";
import { Cell, ErrCell, Region, Waiting, clean, errOf } from "./parts";
import type { Params } from "./state";
import { byOf, filterOf } from "./state";

function Lines(props: { source: Source; params: Params; line: number;
                        exact: boolean }) {
    const { source } = props;
    const by = byOf(props.params);
    const here = useRef<HTMLTableRowElement>(null);
    useEffect(() => here.current?.scrollIntoView({ block: "nearest" }),
              [source, props.line]);
    return <>
        <h3>{clean(source.path)}</h3>
        <Region label="Source" class="source">
            <table class="figures">
                <thead><tr><th scope="col" class="n">
                    {by === "bytes" ? "Bytes" : by === "blocks" ? "Blocks"
                        : "Samples"}</th>
                    {!props.exact && <th scope="col" class="n err">±</th>}
                    <th scope="col" class="n">Line</th>
                    <th scope="col">Source</th></tr></thead>
                <tbody>{source.lines.map((text, i) => {
                    const number = source.from + i;
                    const sum = source.sums[String(number)];
                    return <tr key={number}
                        class={number === props.line ? "picked" : ""}
                        ref={number === props.line ? here : null}>
                        {sum ? <Cell x={total(sum, by)} by={by} /> : <td />}
                        {!props.exact && (sum
                            ? <ErrCell err={errOf(sum, by)} by={by} /> : <td />)}
                        <td class="n dim">{number}</td>
                        <td class="code text"><bdi>{clean(text.replace(/\t/g,
                            "    "))}</bdi></td>
                    </tr>;
                })}</tbody>
            </table>
        </Region>
    </>;
}

export function SourceView(props: { params: Params; fn: Func; line: number;
                                    trace: TraceInfo }) {
    const asked = useAnswer<Source>("source", query(filterOf(props.params),
        `file=${props.fn.id}`, `line=${props.line}`));
    return <section class="side">
        <Waiting asked={asked}>{(source) =>
            <Lines source={source} params={props.params} line={props.line}
                exact={props.trace.is_exact} />}</Waiting>
    </section>;
}
