/* diff.tsx -- what differs between two filters, of one trace or of two */

import { useEffect, useState } from "preact/hooks";
import type { Diff, DiffRow, Info, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { searchQuery } from "./find";
import { diffColour } from "./colours";
import { DiffGraph } from "./diff_flame";
import { Draw } from "./draw";
import { FilterForm } from "./filter_form";
import { Chips, PresetSelect } from "./filters";
import { countText, percentText } from "./format";
import type { Err } from "./parts";
import { Cell, Choice, ErrCell, Name, Over, Region, SumLine, Waiting, fileOf } from
    "./parts";
import { Rows } from "./rows";
import { pick } from "./selection";
import { Head, sortQuery, sortingOf } from "./sort";
import type { Changes, Params } from "./state";
import { FILTER_KEYS, all, filterOf, go, one, presets } from "./state";
import { useTheme } from "./theme";
import { DiffTimeline } from "./timeline_diff";

const hasOther = (params: Params) =>
    [...params.keys()].some((k) => k.startsWith("b."));

/* What one compares with at first: the next trace, or else the end. */
function atFirst(params: Params, info: Info): Changes {
    const t = Number(one(params, "t") ?? "0");
    if (info.traces.length < 2) return { "b.t": "0", "b.live": "end" };
    const other = t + 1 < info.traces.length ? t + 1 : 0;
    return { ...sameAs(params), "b.t": String(other) };
}

/* The first side's filter for the second; its trace stays. */
const sameAs = (params: Params): Changes => Object.fromEntries(
    FILTER_KEYS.filter((k) => k !== "t" && k !== "by")
        .map((k) => ["b." + k, all(params, k)]));

/* The second side's filter, with the keys of a first. */
const sideOf = (params: Params): Params => new Map([...params]
    .filter(([k]) => k.startsWith("b.")).map(([k, v]) => [k.slice(2), v]));

function Sides(props: { params: Params; info: Info; trace: TraceInfo }) {
    const { params, info } = props;
    const [isOpen, open] = useState(false);
    const t = one(params, "b.t") ?? "0";
    const other = info.traces[Number(t)] ?? props.trace;
    const side = sideOf(params);
    return <dl class="sides">
        <dt><span class="side-a">A</span></dt>
        <dd><span class="dim">{fileOf(props.trace.name)}: </span>
            <Chips params={params} trace={props.trace} side="" /></dd>
        <dt><span class="side-b">B</span></dt>
        <dd>
            {info.traces.length > 1
                ? <select aria-label="Trace of B" value={t} onChange={(e) =>
                    go({ "b.t": e.currentTarget.value })}>
                    {info.traces.map((u, i) => <option key={i}
                        value={String(i)}>{fileOf(u.name)}</option>)}
                </select>
                : <span class="dim">{fileOf(other.name)}: </span>}
            <Chips params={params} trace={other} side="b." />
            <button type="button" onClick={() => go(sameAs(params))}>
                Same as A</button>
            <PresetSelect label="Preset of B" list={presets(other.end_us)}
                params={side} onPick={(p) => go(Object.fromEntries(Object
                    .entries(p.keys).map(([k, v]) => ["b." + k, v])))} />
            <button type="button" class="plain" aria-expanded={isOpen}
                onClick={() => open(!isOpen)}>
                {isOpen ? "Close filter of B" : "Filter of B…"}</button>
            {isOpen && <FilterForm params={params} trace={other} side="b." />}
        </dd>
    </dl>;
}

function Strength(props: { row: DiffRow; most: number }) {
    const { row } = props;
    const theme = useTheme();
    const share = Math.min(1, Math.abs(row.delta_bytes) / (props.most || 1));
    const half = `${share * 50}%`;
    return <td class="n" data-v={row.delta_bytes}><span class="swing" aria-hidden="true">
        <span style={{ width: half,
            marginInlineStart: row.delta_bytes < 0
                ? `${50 - share * 50}%` : "50%",
            background: diffColour(row.z, theme) }} /></span></td>;
}

/* What comes of nothing as often as this is no finding. */
const MAY_BE = 0.05;

const chanceText = (chance: number) => chance < 1e-6
    ? "comes of nothing less than once in a million comparisons"
    : `comes of nothing in ${percentText(chance)} of comparisons like this`;

const zText = (z: number) => Math.abs(z) > 98 ? "∞"
    : Math.abs(z).toFixed(Math.abs(z) < 10 ? 1 : 0);

const errOfDelta = (d: Diff | DiffRow): Err => ({
    value: d.delta_bytes, se: d.delta_se, range: d.delta_range,
    few: d.delta_few,
});

/* At first by how much a row has changed, up or down. */
const COLUMNS = ["change", "name", "a", "b", "delta", "error", "z", "sampled"];

function Table(props: { answer: Diff; params: Params; exact: boolean }) {
    const { answer, params, exact } = props;
    const q = one(params, "q") ?? "";
    const sorting = sortingOf(params, COLUMNS);
    const most = Math.max(0, ...answer.rows.map((r) =>
        Math.abs(r.delta_bytes)));
    const delta = answer.b.bytes - answer.a.bytes;
    const whole: [string, number, number][] = answer.rest.rows > 0
        ? [[`${countText(answer.rest.rows)} more, not listed`,
            answer.rest.a.bytes, answer.rest.b.bytes]] : [];
    return <Region label="Differences by site"><table class="figures diff">
        <thead><tr>
            <Head sorting={sorting} column="name" label="Site" />
            <Head sorting={sorting} column="a" label="A" class="n of-a" />
            <Head sorting={sorting} column="b" label="B" class="n of-b" />
            <Head sorting={sorting} column="delta" label="B − A" class="n" />
            {!exact && <Head sorting={sorting} column="error" label="±"
                class="n err" />}
            {!exact && <Head sorting={sorting} column="z" label="z" class="n"
                title="the difference in standard errors" />}
            <Head sorting={sorting} column="change" label="Change" class="n" />
            {!exact && <Head sorting={sorting} column="sampled" class="n"
                label="Sampled A, B" />}
        </tr></thead>
        <Rows rows={answer.rows} keyOf={(_, i) => String(i)}
            onPick={(r) => {
                const fn = answer.functions[r.function];
                if (fn) pick({ fn, line: r.line });
            }}
            cells={(r) => <>
                <th scope="row" class={!exact && r.chance > MAY_BE
                    ? "chance" : ""}><Name line={r.line} q={q}
                    fn={answer.functions[r.function]} /></th>
                <Cell x={r.a.bytes} by="bytes" />
                <Cell x={r.b.bytes} by="bytes" />
                <Cell x={r.delta_bytes} by="bytes" sign />
                {!exact && <ErrCell err={errOfDelta(r)} by="bytes" />}
                {!exact && <td class="n" data-v={r.z}
                    title={chanceText(r.chance)}>
                    {zText(r.z)}</td>}
                <Strength row={r} most={most} />
                {!exact && <td class="n dim" data-v={`${r.a.n}, ${r.b.n}`}>{countText(r.a.n)},{" "}
                    {countText(r.b.n)}</td>}
            </>} />
        <tfoot>
            {whole.map(([name, a, b]) => <tr class="rest" key={name}>
                <th scope="row">{name}</th>
                <Cell x={a} by="bytes" /><Cell x={b} by="bytes" />
                <Cell x={b - a} by="bytes" sign />
                <td colSpan={exact ? 1 : 4} />
            </tr>)}
            <tr class="whole"><th scope="row">Total</th>
                <Cell x={answer.a.bytes} by="bytes" />
                <Cell x={answer.b.bytes} by="bytes" />
                <Cell x={delta} by="bytes" sign />
                {!exact && <ErrCell err={errOfDelta(answer)} by="bytes" />}
                {!exact && <td class="n">{zText(answer.z)}</td>}
                <td />
                {!exact && <td class="n dim">{countText(answer.a.n)},{" "}
                    {countText(answer.b.n)}</td>}
            </tr>
        </tfoot>
    </table></Region>;
}

const AS = [["table", "Table"], ["graph", "Flame graph"],
            ["time", "Time line"]] as const;

export function DiffView(props: { params: Params; info: Info;
                                  trace: TraceInfo }) {
    const { params, info } = props;
    const isReady = hasOther(params);
    useEffect(() => {
        if (!isReady) go(atFirst(params, info), "replace");
    }, [isReady]);
    const as = AS.find(([a]) => a === one(params, "as"))?.[0] ?? "table";
    const q = one(params, "q") ?? "";
    const both = query(filterOf(params), filterOf(params, "b."));
    const asked = useAnswer<Diff>("diff", isReady && as === "table"
        ? query(both, searchQuery(q), sortQuery(sortingOf(params, COLUMNS)))
        : null);
    const other = info.traces[Number(one(params, "b.t") ?? "0")];
    const exact = props.trace.is_exact && (other?.is_exact ?? true);
    if (!isReady) return null;
    return <section class="view fill">
        <Sides params={params} info={info} trace={props.trace} />
        <div class="tools">
            <Choice label="Show as" value={as} options={AS}
                onPick={(a) => go({ as: a === "table" ? undefined : a })} />
            {as === "graph" && <Draw params={params} trace={props.trace}
                isPlain />}
        </div>
        {as === "graph"
            ? <DiffGraph params={params} both={both} exact={exact} />
            : as === "time"
            ? <DiffTimeline params={params} side={sideOf(params)}
                trace={props.trace} other={other ?? props.trace} />
            : <Waiting asked={asked}>{(answer) => <>
                <Over><SumLine sum={answer.a} exact={exact} label="A" />
                    <SumLine sum={answer.b} exact={exact} label="B" /></Over>
                <Table answer={answer} params={params} exact={exact} />
                <p class="under dim">{exact
                    ? "Every block was counted: differences are exact."
                    : "z: the difference in standard errors. Grey: chance " +
                        "alone does as much in one of twenty such tables."}</p>
            </>}</Waiting>}
    </section>;
}
