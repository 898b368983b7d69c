/* timeline_diff.tsx -- both sides of a comparison over time, each from its
 * start, with one scale
 *
 * A range is chosen for both sides. */

import { useMemo } from "preact/hooks";
import type { Timeline, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { Waiting, fileOf } from "./parts";
import type { Params } from "./state";
import { filterOf, go, rangeText } from "./state";
import { spansOf } from "./timeline";
import { Chart, DrawChoice } from "./timeline_chart";
import type { Line } from "./timeline_lines";
import { drawQuery, partValues } from "./timeline_lines";

const POINTS = 450;
const HIGH = 280;

export function DiffTimeline(props: { params: Params; side: Params;
                                      trace: TraceInfo; other: TraceInfo }) {
    const { params, trace, other } = props;
    const end_us = Math.max(trace.end_us, other.end_us);
    const how = query(drawQuery(params),
                      `step=${Math.floor(end_us / POINTS) + 1}`);
    const a = useAnswer<Timeline>("timeline", query(filterOf(params), how));
    const b = useAnswer<Timeline>("timeline",
                                  query(filterOf(props.side), how));
    const spans = useMemo(() => spansOf(params, trace), [params, trace]);
    const lines = useMemo((): Line[] => [
        { name: `A, ${fileOf(trace.name)}`, ink: "--accent",
          fill: "--area-part", values: a.answer ? partValues(a.answer) : [] },
        { name: `B, ${fileOf(other.name)}`, ink: "--line-rss",
          values: b.answer ? partValues(b.answer) : [] },
    ], [a.answer, b.answer, trace, other]);
    /* Both are of one figure, and of one step. */
    const isOne = a.answer?.draw === b.answer?.draw &&
        a.answer?.step_us === b.answer?.step_us;
    return <Waiting asked={{ answer: isOne ? a.answer : undefined,
                             error: a.error ?? b.error,
                             isWaiting: a.isWaiting || b.isWaiting }}>
        {(t) => <Chart id="timeline-both" draw={t.draw} lines={lines}
            step_us={t.step_us} end_us={end_us} spans={spans} high={HIGH}
            onRange={(meaning, range) => go({
                [meaning]: rangeText(range), ["b." + meaning]: rangeText(range),
            })}
            onMoment={(us) => go({ live: String(us), "b.live": String(us) })}>
            <DrawChoice params={params} />
        </Chart>}
    </Waiting>;
}
