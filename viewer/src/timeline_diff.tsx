/* timeline_diff.tsx -- both sides of a comparison over time, each from its
 * start, with one scale
 *
 * A range is chosen for both sides. */

import { useMemo, useRef } from "preact/hooks";
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
    /* The last two that are of one figure, and of one step. */
    const both = useRef<[Timeline, Timeline] | undefined>(undefined);
    if (a.answer && b.answer && a.answer.draw === b.answer.draw &&
        a.answer.step_us === b.answer.step_us)
        both.current = [a.answer, b.answer];
    const [of_a, of_b] = both.current ?? [];
    const lines = useMemo((): Line[] => [
        { name: `A, ${fileOf(trace.name)}`, ink: "--accent",
          fill: "--area-part", values: of_a ? partValues(of_a) : [] },
        { name: `B, ${fileOf(other.name)}`, ink: "--line-rss",
          values: of_b ? partValues(of_b) : [] },
    ], [of_a, of_b, trace, other]);
    return <Waiting asked={{ answer: of_a, error: a.error ?? b.error,
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
