/* samples.tsx -- single samples, a page at a time */

import type { Sample, Samples, TraceInfo } from "./answers";
import { hasHeaps, heapName } from "./answers";
import { query, useAnswer } from "./ask";
import { copyTable } from "./copy";
import { bytesFigure, durationText } from "./format";
import { threadName } from "./filter_text";
import { Choice, Name, Region, SumLine, Waiting, clean } from "./parts";
import { Rows } from "./rows";
import { SampleDetail } from "./sample";
import { pick } from "./selection";
import { Head, sortingOf } from "./sort";
import type { Params } from "./state";
import { filterOf, go, one } from "./state";

const PAGE = 50;
const COLUMNS = ["time", "name", "size", "life", "promoted", "samples",
                 "source", "thread"];
const ORDERS = [["time", "In order of time"], ["size", "Largest first"],
                ["life", "Longest first"]] as const;

function Row(props: { r: Sample; answer: Samples; trace: TraceInfo }) {
    const { r, trace } = props;
    const size = bytesFigure(r.bytes);
    const [fn, line] = r.site;
    return <>
        <td class="n" data-v={r.at_us}>{(r.at_us / 1e6).toFixed(6)}<span class="unit"> s</span>
        </td>
        <td class="n" data-v={r.bytes}>{size.number}<span class="unit"> {size.unit}</span></td>
        <td class="n" data-v={(r.end_us ?? trace.end_us) - r.at_us}>
            {durationText((r.end_us ?? trace.end_us) - r.at_us)}
            {r.end_us === null && <span class="dim"> +</span>}</td>
        {hasHeaps(trace) && <td class="n dim" data-v={r.promoted_us ===
            null ? "" : r.promoted_us - r.at_us}>{r.promoted_us === null ? ""
            : durationText(r.promoted_us - r.at_us)}</td>}
        <td class="n">{r.samples}</td>
        <td>{hasHeaps(trace) ? heapName(r.source) : r.source}</td>
        <td>{clean(threadName(trace, String(r.thread)))}</td>
        <th scope="row"><Name fn={props.answer.functions[fn]} line={line} /></th>
    </>;
}

function Page(props: { answer: Samples; trace: TraceInfo; params: Params;
                       offset: number }) {
    const { answer, trace, offset } = props;
    const last = Math.min(offset + answer.rows.length, answer.n);
    const sorting = sortingOf(props.params, COLUMNS, "order");
    const head = (column: string, label: string, kind?: string) =>
        <Head sorting={sorting} column={column} label={label}
            {...(kind && { class: kind })} />;
    const to = (o: number) => go({ offset: o > 0 ? String(o) : undefined });
    return <>
        <div class="tools">
        <SumLine sum={answer.total} exact={trace.is_exact} label="Total" />
        <div class="pages">
            <button type="button" class="plain" title={"tab-separated values " +
                "of this page ( Y )"} onClick={() => copyTable(document
                .querySelector<HTMLTableElement>("main table"))}>Copy table
            </button>
            <button type="button" disabled={offset === 0}
                onClick={() => to(Math.max(0, offset - PAGE))}>Earlier</button>
            <span>{answer.n === 0 ? "No samples" :
                `${offset + 1} – ${last} of ${answer.n}`}</span>
            <button type="button" disabled={last >= answer.n}
                onClick={() => to(offset + PAGE)}>Later</button>
        </div>
        </div>
        <Region label="Samples"><table class="figures">
            <thead><tr>
                {head("time", "At", "n")}
                {head("size", "Size", "n")}
                {head("life", "Lived", "n")}
                {hasHeaps(trace) && head("promoted", "Promoted after", "n")}
                {head("samples", "Samples", "n")}
                {head("source", hasHeaps(trace) ? "Heap" : "Call")}
                {head("thread", "Thread")}
                {head("name", "Allocated by")}
            </tr></thead>
            <Rows key={filterOf(props.params)} rows={answer.rows}
                keyOf={(_, i) => String(offset + i)}
                onPick={(r) => {
                    const fn = answer.functions[r.site[0]];
                    if (fn) pick({ fn, line: r.site[1], stack: r.stack.map(
                        ([f, line]) => [answer.functions[f], line] as const) });
                }}
                detail={(r) => <SampleDetail r={r} answer={answer}
                    trace={trace} params={props.params} />}
                cells={(r) => <Row r={r} answer={answer} trace={trace} />} />
        </table></Region>
        <p class="under dim">Each row is a block that was sampled; a block of
            few bytes stands for many like it. “+”: never freed.</p>
    </>;
}

export function SamplesView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const order = one(params, "order") ?? "time";
    const offset = Math.max(0, Number(one(params, "offset") ?? "0") || 0);
    const asked = useAnswer<Samples>("samples", query(filterOf(params),
        `order=${order}`, `offset=${offset}`, `limit=${PAGE}`));
    return <section class="view fill">
        <div class="tools">
            <Choice label="Order" value={order as "time"} options={ORDERS}
                onPick={(o) => go({ offset: undefined,
                    order: o === ("time" as string) ? undefined : o })} />
        </div>
        <Waiting asked={asked}>{(answer) => <Page answer={answer}
            trace={props.trace} params={params} offset={offset} />}</Waiting>
    </section>;
}
