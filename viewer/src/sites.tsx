/* sites.tsx -- where memory was allocated, as a table */

import type { Func, Sites, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { searchQuery } from "./find";
import { durationText } from "./format";
import { GroupsTable } from "./groups";
import { GrowthPanel } from "./growth";
import { HeldPanel, ReachPanel, ReachTable, hasClasses } from "./reach";
import { Choice, Foot, Over, Region, SiteHead, SumCells, SumHeads, SumLine, Waiting,
         mostOf } from "./parts";
import { Rows } from "./rows";
import { pick } from "./selection";
import { SUM_COLUMNS, Head, sortQuery, sortingOf } from "./sort";
import type { Params } from "./state";
import { byOf, filterOf, go, one } from "./state";

const GROUPS = [["function", "Function"], ["line", "Line"], ["file", "File"],
                ["module", "Module"], ["stack", "Common stack"]] as const;

/* By file and module the name is theirs. */
const shownBy = (group: string) => (f: Func | undefined): Func | undefined =>
    f && group === "file" ? { ...f, name: f.file || "[unknown]", file: "" }
    : f && group === "module"
        ? { ...f, name: f.module || "[unknown]", module: "", file: "" } : f;

const COLUMNS = [...SUM_COLUMNS, "life"];

function Table(props: { answer: Sites; trace: TraceInfo; params: Params }) {
    const { answer, params } = props;
    const exact = props.trace.is_exact;
    const by = byOf(params);
    const group = one(params, "group") ?? "function";
    const q = one(params, "q") ?? "";
    const sorting = sortingOf(params, COLUMNS);
    const most = mostOf(answer.rows.map((r) => r.sum), by);
    const shown = shownBy(group);
    return <>
        <Over><SumLine sum={answer.total} exact={exact} label="Total" /></Over>
        <Region label="Allocation sites">
            <table class="figures">
                <thead><tr>
                    <Head sorting={sorting} column="name" label="Site" />
                    <SumHeads exact={exact} by={by} sorting={sorting} />
                    <Head sorting={sorting} column="life" class="n"
                        label="Mean lifetime" />
                </tr></thead>
                <Rows rows={answer.rows} keyOf={(r) => [r.id, r.line, r.is_mapping].join()}
                    onPick={(r) => {
                        const fn = answer.functions[r.function];
                        if (fn) pick({ fn, line: r.line });
                    }}
                    cells={(r) => <>
                        <SiteHead q={q} r={r} functions={answer.functions}
                            fn={shown(answer.functions[r.function])} />
                        <SumCells sum={r.sum} whole={answer.total} by={by}
                            exact={exact} most={most} />
                        <td class="n" data-v={r.life_us}>{durationText(r.life_us)}</td>
                    </>} />
                <Foot rest={answer.rest} whole={answer.total} by={by}
                    exact={exact} columns={1} />
            </table>
        </Region>
    </>;
}

export function SitesView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const group = (one(params, "group") ?? "function") as
        (typeof GROUPS)[number][0];
    const q = one(params, "q") ?? "";
    const site = group === "stack" ? "function" : group;
    const leaks = one(params, "live") === "end";
    const byClass = hasClasses(params, props.trace) && !one(params, "reach");
    const asked = useAnswer<Sites>("sites", group === "stack" || byClass ? null
        : query(filterOf(params), `group=${group}`,
            searchQuery(q), sortQuery(sortingOf(params, COLUMNS))));
    return <section class="view fill">
        <div class="tools">
            <Choice label="Group by" value={group} options={GROUPS}
                onPick={(g) => go({ group: g === "function" ? undefined : g })} />
        </div>
        {leaks && <ReachPanel params={params} trace={props.trace} />}
        {leaks && <HeldPanel params={params} q={q}
            trace={props.trace} group={site} shown={shownBy(site)} />}
        {leaks && <GrowthPanel params={params} q={q}
            trace={props.trace} group={site} shown={shownBy(site)} />}
        {group === "stack"
            ? <GroupsTable params={params} trace={props.trace} />
            : byClass ? <ReachTable params={params} trace={props.trace}
                group={site} q={q} shown={shownBy(site)} />
            : <Waiting asked={asked}>{(answer) =>
                <Table answer={answer} trace={props.trace} params={params} />}
            </Waiting>}
    </section>;
}
