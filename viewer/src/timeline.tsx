/* timeline.tsx -- the trace over time, at the top of the page: what is drawn,
 * with what the filter keeps of it, or the bands that are its parts */

import { useEffect, useMemo } from "preact/hooks";
import type { Timeline, TraceInfo } from "./answers";
import { query, useAnswer } from "./ask";
import { BANDS } from "./colours";
import { drawn } from "./marks";
import type { Params } from "./state";
import { filterOf, go, one, parseRange, rangeText } from "./state";
import { useTheme } from "./theme";
import { Chart, DrawChoice, StackChoice } from "./timeline_chart";
import type { Line } from "./timeline_lines";
import { allValues, bandLines, drawQuery, partValues, stackQuery, wordOf } from
    "./timeline_lines";
import type { Span } from "./timeline_plot";

/* What the filter says about time. */
export function spansOf(params: Params, trace: TraceInfo): Span[] {
    const { peak_us, end_us } = trace;
    const spans: Span[] = [];
    for (const key of ["alloc", "live", "freed"] as const) {
        const text = one(params, key);
        const range = parseRange(text);
        const moment = text === "peak" ? peak_us
            : text === "end" || text === "never" ? end_us
            : text !== undefined && /^\d+$/.test(text) ? Number(text)
            : undefined;
        if (range)
            spans.push({ key, from: range.from ?? 0, to: range.to ?? end_us });
        else if (moment !== undefined)
            spans.push({ key, from: moment,
                         to: text === "peak" ? trace.peak_last_us : moment });
    }
    return spans;
}

/* Resident memory is drawn unless it would press all else to the ground. */
const RSS_MOST = 4;

function showsRss(params: Params, t: Timeline): boolean {
    const wish = one(params, "rss");
    if (wish !== undefined) return wish === "1";
    const most = (list: (number | null)[]) =>
        list.reduce<number>((m, v) => Math.max(m, v ?? 0), 0);
    return most(t.rss) <= RSS_MOST * most(t.all);
}

function linesOf(t: Timeline, params: Params, trace: TraceInfo,
                 inks: readonly string[]): Line[] {
    const word = wordOf(t.draw);
    return [
        { name: word + ", all", ink: "--line-all", fill: "--area-all",
          values: allValues(t) },
        ...(t.bands ? bandLines(t, params, trace, inks)
            : [{ name: word + ", filtered", ink: "--accent",
                 fill: "--area-part", values: partValues(t) }]),
        ...(trace.has_rss && t.draw === "bytes" ? [{
            name: "resident memory", ink: "--line-rss", isDashed: true,
            values: t.rss, isHidden: !showsRss(params, t),
            show: (is: boolean) => go({ rss: is ? "1" : "0" }, "replace"),
        }] : []),
    ];
}

/* Whoever folds or unfolds goes on by keys where the time line is then. */
export const focusWish = { on: false };

export function TimelinePanel(props: { params: Params; trace: TraceInfo }) {
    const { params, trace } = props;
    const inks = BANDS[useTheme()];
    drawn.trace = trace;
    const { answer: t, error, isWaiting } = useAnswer<Timeline>("timeline",
        query(filterOf(params), drawQuery(params), stackQuery(params)));
    const spans = useMemo(() => spansOf(params, trace), [params, trace]);
    const lines = useMemo(() => t ? linesOf(t, params, trace, inks) : [],
                          [t, params, trace, inks]);

    useEffect(() => {
        if (!t || !focusWish.on) return;
        focusWish.on = false;
        document.getElementById("timeline")?.focus();
    }, [t]);

    if (error !== undefined)
        return <p class="error" role="alert">{error}</p>;
    if (!t) return <div class="timeline" aria-busy="true" />;
    return <Chart id="timeline" draw={t.draw} lines={lines} hasMarks
        isWaiting={isWaiting}
        step_us={t.step_us} end_us={trace.end_us} spans={spans}
        onRange={(meaning, range) => go({ [meaning]: rangeText(range) })}
        onMoment={(us) => go({ live: String(us) })}>
        <DrawChoice params={params} />
        <StackChoice params={params} />
    </Chart>;
}
