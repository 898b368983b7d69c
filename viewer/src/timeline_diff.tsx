/* timeline_diff.tsx -- both sides of a comparison over time, each from its
 * start, with one scale
 *
 * In one picture as two lines; or, stacked, in a picture each, where a colour is
 * the same function's, thread's or module's. A range is chosen for both. */

import { useMemo, useRef } from "preact/hooks";
import type { Timeline, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { BANDS } from "./colours";
import { Waiting, fileOf } from "./parts";
import type { Params } from "./state";
import { filterOf, go, rangeText } from "./state";
import { useTheme } from "./theme";
import { spansOf } from "./timeline";
import { Chart, DrawChoice, StackChoice } from "./timeline_chart";
import type { Line } from "./timeline_lines";
import { bandLines, bandLinesOfBoth, drawQuery, partValues, stackQuery } from
    "./timeline_lines";

const POINTS = 450;
const HIGH = 280;
const HIGH_OF_TWO = 170;

/* The lines of a picture; when stacked, of two. */
function picturesOf(both: [Timeline, Timeline], params: Params,
                    traces: [TraceInfo, TraceInfo],
                    inks: readonly string[]): Line[][] {
    const [a, b] = traces;
    const whole: Line[] = [
        { name: `A, ${fileOf(a.name)}`, ink: "--accent",
          values: partValues(both[0]) },
        { name: `B, ${fileOf(b.name)}`, ink: "--line-rss",
          values: partValues(both[1]) },
    ];
    if (both.some((t) => !t.bands))
        return [[{ ...whole[0]!, fill: "--area-part" }, whole[1]!]];
    const bands = bandLinesOfBoth(both.map((t, i) => bandLines(t, params,
        traces[i]!, inks, (key) => key === "thread"
            ? [i === 0 ? key : "b." + key] : [key, "b." + key])), inks);
    return whole.map((line, i) => [line, ...bands[i]!]);
}

/* What all of them fit in. */
function roomOf(pictures: Line[][]) {
    const lines = pictures.map(([whole]) => whole!.values);
    return { steps: Math.max(...lines.map((v) => v.length)),
             value: Math.max(...lines.flat().map((v) => v ?? 0)) };
}

export function DiffTimeline(props: { params: Params; side: Params;
                                      trace: TraceInfo; other: TraceInfo }) {
    const { params, trace, other } = props;
    const inks = BANDS[useTheme()];
    const end_us = Math.max(trace.end_us, other.end_us);
    const how = query(drawQuery(params), stackQuery(params),
                      `step=${Math.floor(end_us / POINTS) + 1}`);
    const a = useAnswer<Timeline>("timeline", query(filterOf(params), how));
    const b = useAnswer<Timeline>("timeline",
                                  query(filterOf(props.side), how));
    const spans = useMemo(() => spansOf(params, trace), [params, trace]);
    /* The last two that are of one figure, and of one step. */
    const both = useRef<[Timeline, Timeline] | undefined>(undefined);
    if (a.answer && b.answer && a.answer.draw === b.answer.draw &&
        a.answer.stack === b.answer.stack &&
        a.answer.step_us === b.answer.step_us)
        both.current = [a.answer, b.answer];
    const shown = both.current;
    const pictures = useMemo(() => shown
        ? picturesOf(shown, params, [trace, other], inks) : [],
                             [shown, params, trace, other, inks]);
    const isOne = pictures.length === 1;
    return <Waiting asked={{ answer: shown?.[0], error: a.error ?? b.error,
                             isWaiting: a.isWaiting || b.isWaiting }}>
        {(t) => <>{pictures.map((lines, i) =>
            <Chart key={`${i}${isOne}`} draw={t.draw} lines={lines}
                id={i === 0 ? "timeline-both" : "timeline-b"}
                label={isOne ? "Time line of A and B"
                    : `Time line of ${i === 0 ? "A" : "B"}`}
                step_us={t.step_us} end_us={end_us} spans={spans}
                high={isOne ? HIGH : HIGH_OF_TWO}
                {...(!isOne && { room: roomOf(pictures) })}
                onRange={(meaning, range) => go({
                    [meaning]: rangeText(range),
                    ["b." + meaning]: rangeText(range),
                })}
                onMoment={(us) => go({ live: String(us),
                                       "b.live": String(us) })}>
                {i === 0 && <><DrawChoice params={params} />
                    <StackChoice params={params} /></>}
            </Chart>)}</>}
    </Waiting>;
}
