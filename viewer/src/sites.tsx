/* sites.tsx -- where memory was allocated, as a table */

import type { Func, Sites, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { durationText } from "./format";
import { GroupsTable } from "./groups";
import { GrowthPanel } from "./growth";
import { Choice, Foot, Name, Region, SumCells, SumHeads, SumLine, Waiting,
         mostOf } from "./parts";
import { Rows } from "./rows";
import { pick } from "./selection";
import type { Params } from "./state";
import { byOf, filterOf, go, one } from "./state";

const GROUPS = [["function", "Function"], ["line", "Line"], ["file", "File"],
                ["module", "Module"], ["stack", "Common stack"]] as const;

/* By file and module the name is theirs. */
const shownBy = (group: string) => (f: Func | undefined): Func | undefined =>
    f && group === "file" ? { ...f, name: f.file || "[unknown]", file: "" }
    : f && group === "module"
        ? { ...f, name: f.module || "[unknown]", module: "", file: "" } : f;

function Table(props: { answer: Sites; trace: TraceInfo; params: Params }) {
    const { answer, params } = props;
    const exact = props.trace.is_exact;
    const by = byOf(params);
    const group = one(params, "group") ?? "function";
    const q = one(params, "q") ?? "";
    const most = mostOf(answer.rows.map((r) => r.sum), by);
    const shown = shownBy(group);
    return <>
        <p class="over">
            <SumLine sum={answer.total} exact={exact} label="Total" />
        </p>
        <Region label="Allocation sites">
            <table class="figures">
                <thead><tr>
                    <th scope="col">Site</th>
                    <SumHeads exact={exact} by={by} />
                    <th scope="col" class="n">Mean lifetime</th>
                </tr></thead>
                <Rows rows={answer.rows} keyOf={(r) => [r.id, r.line, r.is_mapping].join()}
                    onPick={(r) => {
                        const fn = answer.functions[r.function];
                        if (fn) pick({ fn, line: r.line });
                    }}
                    cells={(r) => <>
                        <th scope="row"><Name q={q} line={r.line}
                            fn={shown(answer.functions[r.function])} />
                            {r.is_mapping && <span class="tag">mapping</span>}
                        </th>
                        <SumCells sum={r.sum} whole={answer.total} by={by}
                            exact={exact} most={most} />
                        <td class="n">{durationText(r.life_us)}</td>
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
    const asked = useAnswer<Sites>("sites", group === "stack" ? null
        : query(filterOf(params), `group=${group}`,
            q === "" ? "" : `q=${encodeURIComponent(q)}`));
    return <section class="view">
        <div class="tools">
            <Choice label="Group by" value={group} options={GROUPS}
                onPick={(g) => go({ group: g === "function" ? undefined : g })} />
        </div>
        {one(params, "live") === "end" && <GrowthPanel params={params} q={q}
            trace={props.trace} group={site} shown={shownBy(site)} />}
        {group === "stack"
            ? <GroupsTable params={params} trace={props.trace} />
            : <Waiting asked={asked}>{(answer) =>
                <Table answer={answer} trace={props.trace} params={params} />}
            </Waiting>}
    </section>;
}
