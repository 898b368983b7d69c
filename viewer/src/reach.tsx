/* reach.tsx -- what was never freed by what leads to it: all of it, by holder, and
 * by site */

import type { Func, HeldAnswer, HeldRow, ReachAnswer, Sum, TraceInfo } from "./answers";
import { REACHES, hasHeaps } from "./answers";
import { query, useAnswer } from "./ask";
import { searchQuery } from "./find";
import { total } from "./forest";
import { countText, percentText } from "./format";
import { Cell, Foot, Name, Num, Over, Region, SiteHead, SumCells, SumHeads,
         SumLine, Waiting, errOf, errText, shortOf, sumText } from "./parts";
import { Rows } from "./rows";
import { pick } from "./selection";
import { Head, sortQuery, sortingOf } from "./sort";
import type { By, Params } from "./state";
import { byOf, filterOf, go, one } from "./state";

const COLUMNS = ["lost", "name", "indirect", "possible", "held", "unknown"];

/* What was not looked at is shown where there is some, and so is what a heap
 * has none of. */
const shownOf = (a: ReachAnswer, trace: TraceInfo) =>
    REACHES.filter(([r, , meaning, ofHeap]) => a.reach[r].n > 0 ||
        (hasHeaps(trace) ? ofHeap : meaning) !== "");

/* Where a trace has no classes: how to get them. */
const NotLooked = (props: { trace: TraceInfo }) => <p class="over dim">Which
    of them does a {hasHeaps(props.trace) ? "root" : "pointer"} still lead to? A
    trace of <code>aliquot record --leaks</code> tells.</p>;

/* As the report says it (cli/report/leaks.c). */
const whenText = (t: TraceInfo) => hasHeaps(t) ? "when the trace ended"
    : t.looked === "end" ? "at the end"
    : "when exit handlers had run; libraries may free more";

/* All of it. A class is a button that filters. */
function Classes(props: { answer: ReachAnswer; params: Params;
                          trace: TraceInfo }) {
    const { answer, params, trace } = props;
    const exact = trace.is_exact;
    const by = byOf(params);
    return <Region label="What leads to them" class="growth">
        <table class="figures">
            <caption>Never freed, by what led to it {whenText(trace)}</caption>
            <thead><tr><th scope="col">Class</th>
                <SumHeads exact={exact} by={by} /></tr></thead>
            <tbody>{shownOf(answer, trace).map(([r, name, meaning, ofHeap]) =>
                <tr key={r}>
                <th scope="row"><button type="button" class="plain"
                    aria-pressed={one(params, "reach") === r}
                    onClick={() => go({ reach: one(params, "reach") === r
                        ? undefined : r })}>{name}</button>{" "}
                    <span class="dim">{hasHeaps(trace) && ofHeap || meaning}</span>
                </th>
                <SumCells sum={answer.reach[r]} whole={answer.total} by={by}
                    exact={exact} />
            </tr>)}</tbody>
        </table>
    </Region>;
}

/* A way as a name, as the report writes it. */
const wayOf = (r: HeldRow): Func => ({
    id: null, file: "", module: "",
    name: r.way.map((s) => s.name + (s.most > 1 ? ` ×${s.most}` : ""))
        .reverse().join(" → "),
});

/* The largest sites of what a row holds. */
const sitesOf = (r: HeldRow, functions: Func[], by: By,
                 shown: (f: Func | undefined) => Func | undefined) =>
    r.sites.map((s) => `${percentText(total(s.sum, by) / total(r.sum, by))} ${
        shortOf(shown(functions[s.function]))}${s.line ? `:${s.line}` : ""}`)
        .join(", ") + (r.n_sites > r.sites.length
            ? `, ${countText(r.n_sites - r.sites.length)} more` : "");

/* By what holds it; nothing where the trace does not tell. */
export function HeldPanel(props: { params: Params; trace: TraceInfo;
                                   group: string; q: string;
                                   shown: (f: Func | undefined) =>
                                       Func | undefined }) {
    const { params, q, trace } = props;
    const exact = trace.is_exact;
    const by = byOf(params);
    const { answer } = useAnswer<HeldAnswer>("held", trace.looked === "" ? null
        : query(filterOf(params), `group=${props.group}`, searchQuery(q)));
    if (!answer || answer.rows.length + answer.rest.rows === 0) return null;
    const { functions, total: whole } = answer;
    return <Region label="What holds them" class="growth held">
        <table class="figures">
            <caption>Never freed, by what holds it</caption>
            <thead><tr><th scope="col">Holder, and sites of what it holds</th>
                <SumHeads exact={exact} by={by} /></tr></thead>
            <Rows rows={answer.rows}
                keyOf={(r) => r.class + wayOf(r).name}
                onPick={(r) => {
                    const site = r.sites[0];
                    const fn = site && functions[site.function];
                    if (fn) pick({ fn, line: site.line });
                }}
                cells={(r) => <>
                    <th scope="row"><Name q={q} fn={wayOf(r)}
                        callers={sitesOf(r, functions, by, props.shown)} />
                        {r.class !== "held" && <span class="tag">{REACHES.find(
                            ([c]) => c === r.class)?.[1]}</span>}</th>
                    <SumCells sum={r.sum} whole={whole} by={by} exact={exact} />
                </>} />
            <Foot rest={answer.rest} whole={whole} by={by} exact={exact}
                more={answer.untold.n > 0 && <tr class="rest">
                    <th scope="row">Without a holder</th>
                    <SumCells sum={answer.untold} whole={whole} by={by}
                        exact={exact} />
                </tr>} />
        </table>
    </Region>;
}

function ClassCell(props: { sum: Sum | undefined; by: By; exact: boolean }) {
    const { sum, by } = props;
    return <td class="n" data-v={sum ? total(sum, by) : 0}
        title={sum && sumText(sum, props.exact)}>
        {sum ? <Num x={total(sum, by)} by={by} /> : <span class="dim">0</span>}
        {sum && <span class="dim"> {errText(errOf(sum, by), by)}</span>}
    </td>;
}

function BySite(props: { answer: ReachAnswer; params: Params; trace: TraceInfo;
                         shown: (f: Func | undefined) => Func | undefined }) {
    const { answer, params } = props;
    const exact = props.trace.is_exact;
    const by = byOf(params);
    const sorting = sortingOf(params, COLUMNS);
    const classes = shownOf(answer, props.trace);
    const { rest } = answer;
    return <>
        <Over><SumLine sum={answer.total} exact={exact} label="Total" /></Over>
        <Region label="Allocation sites">
            <table class="figures">
                <thead><tr>
                    <Head sorting={sorting} column="name" label="Site" />
                    {classes.map(([r, name]) => <Head key={r} class="n"
                        sorting={sorting} column={r} label={name} />)}
                    <th scope="col" class="n">All</th>
                </tr></thead>
                <Rows rows={answer.rows}
                    keyOf={(r) => [r.id, r.line, r.is_mapping].join()}
                    onPick={(r) => {
                        const fn = answer.functions[r.function];
                        if (fn) pick({ fn, line: r.line });
                    }}
                    cells={(r) => <>
                        <SiteHead q={one(params, "q") ?? ""} r={r}
                            functions={answer.functions}
                            fn={props.shown(answer.functions[r.function])} />
                        {classes.map(([c]) => <ClassCell key={c} by={by}
                            sum={r.reach[c]} exact={exact} />)}
                        <Cell x={total(r.sum, by)} by={by} />
                    </>} />
                <tfoot>
                    {rest.rows > 0 && <tr class="rest">
                        <th scope="row">{countText(rest.rows)} more, not
                            listed</th>
                        {classes.map(([c]) => <td key={c} />)}
                        <Cell x={total(rest.sum, by)} by={by} />
                    </tr>}
                    <tr class="whole">
                        <th scope="row">Total</th>
                        {classes.map(([c]) => <ClassCell key={c} by={by}
                            sum={answer.reach[c]} exact={exact} />)}
                        <Cell x={total(answer.total, by)} by={by} />
                    </tr>
                </tfoot>
            </table>
        </Region>
    </>;
}

export const hasClasses = (params: Params, trace: TraceInfo) =>
    one(params, "live") === "end" && trace.looked !== "";

/* The classes; sites by class only while none is chosen. */
export function ReachPanel(props: { params: Params; trace: TraceInfo }) {
    const { params, trace } = props;
    const { answer } = useAnswer<ReachAnswer>("reach", trace.looked === ""
        ? null : query(filterOf(params, "", ["reach"]), "limit=1"));
    if (answer) return <Classes {...props} answer={answer} />;
    return trace.looked !== "" ? null : <NotLooked trace={trace} />;
}

export function ReachTable(props: { params: Params; trace: TraceInfo;
                                    group: string; q: string;
                                    shown: (f: Func | undefined) =>
                                        Func | undefined }) {
    const { params, q } = props;
    const asked = useAnswer<ReachAnswer>("reach", query(filterOf(params),
        `group=${props.group}`, searchQuery(q),
        sortQuery(sortingOf(params, COLUMNS))));
    return <Waiting asked={asked}>{(answer) => <BySite answer={answer}
        params={params} trace={props.trace} shown={props.shown} />}
    </Waiting>;
}
