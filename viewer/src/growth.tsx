/* growth.tsx -- above the leaks: sites that grow steadily, and how fast */

import type { Func, Growth, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { searchQuery } from "./find";
import { durationText, growthText } from "./format";
import { Num, Region, SiteHead } from "./parts";
import { Rows } from "./rows";
import { pick } from "./selection";
import type { Params } from "./state";
import { filterOf } from "./state";

export function GrowthPanel(props: {
    params: Params; trace: TraceInfo; group: string; q: string;
    shown: (f: Func | undefined) => Func | undefined;
}) {
    const { params, q, shown } = props;
    const { answer } = useAnswer<Growth>("growth", query(filterOf(params),
        `group=${props.group}`, searchQuery(q)));
    if (!answer) return null;
    const since = durationText(answer.from_us);
    if (answer.rows.length === 0)
        return <p class="over dim">Nothing grows steadily from {since} on.</p>;
    return <Region label="Grows steadily" class="growth">
        <table class="figures">
            <caption>Grows steadily from {since} on</caption>
            <thead><tr>
                <th scope="col">Site</th>
                <th scope="col" class="n">Growth</th>
                <th scope="col" class="n">Never freed</th>
            </tr></thead>
            <Rows rows={answer.rows}
                keyOf={(r) => [r.id, r.line, r.is_mapping].join()}
                onPick={(r) => {
                    const fn = answer.functions[r.function];
                    if (fn) pick({ fn, line: r.line });
                }}
                cells={(r) => <>
                    <SiteHead q={q} r={r} functions={answer.functions}
                        fn={shown(answer.functions[r.function])} />
                    <td class="n">grows {growthText(r.bytes_per_minute,
                        props.trace.is_exact ? undefined
                            : r.bytes_per_minute_se)}</td>
                    <td class="n"><Num x={r.sum.bytes} by="bytes" /></td>
                </>} />
        </table>
        {answer.rest > 0 && <p class="under dim">
            {answer.rest} more, not listed</p>}
    </Region>;
}
