/* trace.tsx -- what is known of the recording itself */

import type { Info, TraceInfo } from "./answers";
import { hasHeaps } from "./answers";
import { bytesText, clockText, countText, durationText } from "./format";
import { SumLine, clean } from "./parts";

function facts(t: TraceInfo): [string, string][] {
    const sampling = t.is_exact ? "every block"
        : `one for each ${bytesText(t.interval_bytes)} allocated`;
    return [
        ["Program", t.program],
        ["Command", t.command],
        ["Host", t.host],
        ["Process", t.pid > 0 ? String(t.pid) : ""],
        ["Started", t.start_us > 0 ? clockText(t.start_us) : ""],
        ["Ran", durationText(t.end_us)],
        ["Peak", `${bytesText(t.peak_bytes)} after ${durationText(t.peak_us)}` +
            (t.peak_last_us > t.peak_us ?
                ` to ${durationText(t.peak_last_us)}` : "")],
        ["Sampling", sampling],
        ["Sampled blocks", t.n_left_out === 0 ? countText(t.n_rows)
            : `${t.n_rows} of ${t.n_rows + t.n_left_out}, drawn by chance to ` +
                "make the page smaller; errors are of those"],
        ["Words", t.word_bits > 0 && hasHeaps(t) ? `${t.word_bits} bits` : ""],
        ["Threads", t.threads.map((u) => u.name || `thread ${u.tid}`)
            .join(", ")],
        ["Domains", t.domains.length > 1 ? t.domains.join(", ") : ""],
        ["Context", t.context],
    ];
}

export function TraceView(props: { info: Info; trace: TraceInfo }) {
    const t = props.trace;
    const notes = [...(t.damage ? [t.damage] : []), ...t.notes];
    return <section class="view facts">
        <h2><bdi>{clean(t.name)}</bdi></h2>
        <p><SumLine sum={t.total} exact={t.is_exact} label="Allocated" /></p>
        <dl>{facts(t).filter(([, v]) => v !== "").map(([name, value]) =>
            <div key={name}><dt>{name}</dt>
                <dd><bdi>{clean(value)}</bdi></dd></div>)}</dl>
        <h3>Notes</h3>
        {notes.length === 0 ? <p class="dim">Nothing was dropped or cut.</p>
            : <ul class="notes">{notes.map((n, i) =>
                <li key={i}>{clean(n)}</li>)}</ul>}
        <p class="dim">aliquot {props.info.version}</p>
    </section>;
}
