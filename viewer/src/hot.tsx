/* hot.tsx -- the heaviest paths, none of them part of another */

import type { Func, Hot, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { FunctionName, Region, SumCells, SumHeads, SumLine, Waiting } from
    "./parts";
import { Rows } from "./rows";
import { focusOn, pick } from "./selection";
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
    const ids = (path: number[]) =>
        path.map((f) => answer.functions[f]?.id as number);
    return <>
        <p class="over">
            <SumLine sum={answer.total} exact={exact} label="Total" />
        </p>
        <Region label="Hot paths"><table class="figures">
            <thead><tr><th scope="col">Path, callers first</th>
                <SumHeads exact={exact} by={by} /></tr></thead>
            <Rows rows={answer.rows} keyOf={(_, i) => String(i)}
                onPick={(r) => {
                    const fn = answer.functions[r.path.at(-1) as number];
                    if (fn) pick({ fn, fragment: ids(r.path) });
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
    return <section class="view">
        <Waiting asked={asked}>{(answer) =>
            answer.rows.length === 0
                ? <><p class="over"><SumLine sum={answer.total} label="Total"
                    exact={props.trace.is_exact} /></p>
                    <p class="dim">No path stands out.</p></>
                : <Table answer={answer} params={props.params}
                    trace={props.trace} />}</Waiting>
    </section>;
}
