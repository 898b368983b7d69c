/* sample.tsx -- one block: its life, its stack, and who else allocates there */

import type { Func, FunctionAnswer, Sample, Samples, Sum, TraceInfo } from
    "./answers";
import { hasHeaps, heapName } from "./answers";
import { query, useAnswer } from "./ask";
import { copy, stackText } from "./copy";
import { threadName } from "./filter_text";
import { bytesText, countText, durationText } from "./format";
import { Name, Region, SumCells, SumHeads, clean, errorOf, shortOf } from "./parts";
import { added } from "./selection";
import type { Changes, Params } from "./state";
import { byOf, change, filterOf, linkTo } from "./state";

const CALLERS_MOST = 5;

/* ---- what is known of the block ---------------------------------------- */

const atText = (us: number) => `${(us / 1e6).toFixed(6)} s`;

function heapText(r: Sample): string {
    if (r.source !== "minor" || r.promoted_us === null)
        return heapName(r.source);
    return `minor, then major from ${atText(r.promoted_us)}`;
}

function sizeText(r: Sample, trace: TraceInfo): string {
    const words = r.bytes / (trace.word_bits / 8);
    return `${bytesText(r.bytes)} (${r.bytes} bytes` + (hasHeaps(trace)
        ? `, ${words} words with the header)` : ")");
}

const reallocText = (r: Sample) => r.chain_us === undefined ? ""
    : (r.generation ? `block ${r.generation} of its chain, ` : "in a chain ") +
        `which lived ${durationText(r.chain_us)}`;

function facts(r: Sample, trace: TraceInfo): [string, string][] {
    const heaps = hasHeaps(trace);
    return [
        ["Allocated", atText(r.at_us)],
        ["Freed", r.end_us === null ? "never: alive at the end"
            : atText(r.end_us)],
        ["Lived", durationText((r.end_us ?? trace.end_us) - r.at_us) +
            (r.end_us === null ? " so far" : "")],
        ["Size", sizeText(r, trace)],
        [heaps ? "Heap" : "Call", heaps ? heapText(r) : r.source],
        ["Samples", String(r.samples)],
        ["Thread", threadName(trace, String(r.thread))],
        ["Domain", trace.domains.length > 1 ? String(r.domain) : ""],
        ["Realloc", reallocText(r)],
    ];
}

/* ---- who else allocates there ------------------------------------------- */

/* A row of the table, with the way to its samples. */
function Others(props: { label: string; fn?: Func | undefined; sum: Sum;
                         whole: Sum; params: Params; exact: boolean;
                         keys?: Changes }) {
    const { keys } = props;
    return <tr>
        <th scope="row">{props.label}{props.fn && <Name fn={props.fn} />}
            {keys && <span class="ways">
                <a href={linkTo({ ...keys, offset: undefined })}
                    aria-label={`Samples: ${props.label}`}>Samples</a>
                <a href={linkTo({ ...keys, view: "flame", focus: undefined })}
                    aria-label={`Flame graph: ${props.label}`}>Flame graph</a>
            </span>}
        </th>
        <SumCells sum={props.sum} whole={props.whole} exact={props.exact}
            by={byOf(props.params)} />
    </tr>;
}

function Beside(props: { r: Sample; answer: Samples; trace: TraceInfo;
                         params: Params }) {
    const { r, answer, params } = props;
    const site = answer.functions[r.site[0]];
    const ofStack = { node: String(r.node) };
    const ofSite = { site: added(params, "site", `=${site?.name}`) };
    const stack = useAnswer<Samples>("samples",
        query(filterOf(change(params, ofStack)), "limit=1"));
    const all = useAnswer<FunctionAnswer>("function", site
        ? query(filterOf(change(params, ofSite)), `id=${site.id}`) : null);
    const error = errorOf(stack) ?? errorOf(all);
    if (error) return error;
    if (!stack.answer || !all.answer)
        return <p class="wait" role="status">Reading…</p>;
    const row = { whole: answer.total, params, exact: props.trace.is_exact };
    const { functions, callers, total } = all.answer;
    const shown = callers.slice(0, CALLERS_MOST);
    return <table class="figures narrow beside">
        <thead><tr><th scope="col">Who else allocates there</th>
            <SumHeads exact={row.exact} by={byOf(params)} /></tr></thead>
        <tbody>
            <Others {...row} label="The same stack" sum={stack.answer.total}
                keys={ofStack} />
            <Others {...row} label={`All of ${shortOf(site)}`} sum={total}
                keys={ofSite} />
            {shown.map((c) => <Others {...row} key={c.id} label="called by "
                fn={functions.find((f) => f.id === c.id)} sum={c.sum} />)}
            {callers.length > shown.length && <tr class="rest">
                <th scope="row">{countText(callers.length - shown.length)} other
                    callers, not listed</th></tr>}
        </tbody>
    </table>;
}

/* ---- all of it ---------------------------------------------------------- */

export function SampleDetail(props: { r: Sample; answer: Samples;
                                      trace: TraceInfo; params: Params }) {
    const { r, answer, trace } = props;
    const frames = r.stack.map(([fn, line]) =>
        [answer.functions[fn], line] as const);
    const site = r.stack.findLastIndex(([fn, line]) =>
        fn === r.site[0] && line === r.site[1]);
    return <td colSpan={8} class="stack"><div class="sample">
        <dl>{facts(r, trace).filter(([, v]) => v !== "").map(([name, value]) =>
            <div key={name}><dt>{name}</dt>
                <dd><bdi>{clean(value)}</bdi></dd></div>)}</dl>
        <Region label="Who else allocates there"><Beside {...props} /></Region>
        <h2>Stack, innermost first <button type="button" class="plain"
            title="a line a frame ( s )"
            onClick={() => copy(stackText(frames), "stack")}>Copy stack
        </button></h2>
        <ol>{frames.map(([fn, line], i) =>
            <li key={i} class={i === site ? "last" : ""}>
                <Name fn={fn} line={line} /></li>).reverse()}</ol>
    </div></td>;
}
