/* parts.tsx -- small pieces that all views are made of */

import type { ComponentChildren, JSX } from "preact";
import type { Func, Rest, Sum } from "./answers";
import type { Asked } from "./ask";
import type { By } from "./state";
import { bytesFigure, bytesText, countFigure, countText, percentText } from
    "./format";
import type { Forest } from "./forest";
import { copyTable } from "./copy";
import { searchOf } from "./find";
import type { Sorting } from "./sort";
import { Head } from "./sort";
import { total } from "./forest";

/* ---- figures ---------------------------------------------------------- */

export const valueFigure = (x: number, by: By) =>
    by === "bytes" ? bytesFigure(x) : countFigure(x);
export const valueText = (x: number, by: By) =>
    by === "bytes" ? bytesText(x) : countText(x);

/* In a sentence, where no heading says what is counted. */
export const saidText = (x: number, by: By, error = "") =>
    valueText(x, by) + after(error) + (by === "bytes" ? ""
        : " " + (countText(x) === "1" ? by.slice(0, -1) : by));

/* Number and unit in columns of their own, so that digits stand in line. */
export function Num(props: { x: number; by: By; sign?: boolean }) {
    const f = valueFigure(props.x, props.by);
    const plus = props.sign && props.x > 0 && f.number !== "0" ? "+" : "";
    return <>{plus}{f.number}<span class={props.by === "bytes" ? "unit"
        : "unit short"}>{props.by === "bytes" && " "}{f.unit}</span></>;
}

export function Cell(props: { x: number; by: By; dim?: boolean;
                              sign?: boolean }) {
    return <td class={props.dim ? "n dim" : "n"} data-v={props.x}>
        <Num x={props.x} by={props.by} sign={props.sign ?? false} />
    </td>;
}

export function Bar(props: { share: number }) {
    const width = `${Math.max(0, Math.min(1, props.share)) * 100}%`;
    return <span class="bar" aria-hidden="true">
        <span style={{ width }} />
    </span>;
}

/* The bar is as long as the part is of the largest one in its column. */
export function Share(props: { part: number; of: number; most?: number }) {
    const share = props.of > 0 ? props.part / props.of : 0;
    const most = props.most ?? props.of;
    return <td class="n share" data-v={share}>
        {most > 0 && <Bar share={props.part / most} />}
        <span class="percent">{percentText(share)}</span>
    </td>;
}

/* How far off an estimate may be: one standard error, or, of few samples, where
 * the truth is with 95 %. The engine says which (view/interval.h). */
export interface Err {
    value: number;
    se: number;
    range: [number, number];
    few: boolean;
}

export function errOf(s: Sum, by: By): Err {
    return by === "blocks" ? { value: s.blocks, se: s.blocks_se,
                               range: s.blocks_range, few: s.blocks_few }
        : by === "bytes" ? { value: s.bytes, se: s.bytes_se,
                             range: s.bytes_range, few: s.bytes_few }
        : { value: s.samples, se: 0, range: [0, 0], few: false };
}

export function errAt(f: Forest, node: number): Err {
    const low = f.low[node] as number;
    const high = f.high[node] as number;
    return { value: f.value[node] as number, se: f.error[node] as number,
             range: [low, high], few: low !== 0 || high !== 0 };
}

/* The report's words (cli/analysis/errors.c). */
export function errText(e: Err, by: By): string {
    if (!e.few)
        return e.se > 0 ? `± ${valueText(e.se, by)}` : "";
    if (e.value === 0 && e.range[0] >= 0)
        return `at most ${valueText(e.range[1], by)}`;
    return `[${valueText(e.range[0], by)}, ${valueText(e.range[1], by)}]`;
}

const after = (text: string) => text === "" ? "" : " " + text;
const errorText = (s: Sum, by: By) => after(errText(errOf(s, by), by));

/* Under a heading of its sign. */
export function ErrCell(props: { err: Err; by: By }) {
    if (!props.err.few) return <Cell x={props.err.se} by={props.by} dim />;
    return <td class="n dim" data-v={props.err.range.join("..")}
        title="few samples: the truth is there with 95 %">
        {errText(props.err, props.by)}</td>;
}

/* A sum in words; the sampled blocks behind it are always said. */
export function sumText(s: Sum, isExact: boolean): string {
    const counted = isExact ? "" : `, from ${countText(s.n)} sampled`;
    return `${bytesText(s.bytes)}${errorText(s, "bytes")} in ` +
        `${countText(s.blocks)}${errorText(s, "blocks")} blocks` +
        counted;
}

export function SumLine(props: { sum: Sum; label?: string; exact: boolean }) {
    const { sum } = props;
    return <span class="sum">
        {props.label && <span class="dim">{props.label} </span>}
        <b data-total={sum.bytes}>{bytesText(sum.bytes)}</b>
        <span class="dim">{errorText(sum, "bytes")} in </span>
        <b>{countText(sum.blocks)}</b>
        <span class="dim">{errorText(sum, "blocks")} blocks
            {props.exact ? ", every block counted"
                : <>, from <b>{countText(sum.n)}</b> sampled</>}</span>
    </span>;
}

/* ---- columns of sums -------------------------------------------------- */

export function SumHeads(props: { exact: boolean; by: By; share?: string;
                                  sorting?: Sorting }) {
    const { sorting } = props;
    const name = props.by === "blocks" ? "Blocks"
        : props.by === "samples" ? "Samples" : "Bytes";
    return <>
        <Head sorting={sorting} column="value" label={name} class="n" />
        {!props.exact && props.by !== "samples" &&
            <Head sorting={sorting} column="error" label="±" class="n err" />}
        <th scope="col" class="n">{props.share ?? "Share"}</th>
        {props.by !== "blocks" ? <Head sorting={sorting} column="blocks"
                label="Blocks" class="n" />
            : <Head sorting={sorting} column="bytes" label="Bytes" class="n" />}
        {!props.exact && <Head sorting={sorting} column="sampled" class="n"
            label="Sampled"
            title="blocks that were sampled: what the estimate rests on" />}
    </>;
}

export const mostOf = (sums: Sum[], by: By) =>
    Math.max(0, ...sums.map((s) => total(s, by)));

export function SumCells(props: { sum: Sum; whole: Sum; exact: boolean;
                                  by: By; most?: number }) {
    const { sum, by } = props;
    return <>
        <Cell x={total(sum, by)} by={by} />
        {!props.exact && by !== "samples" &&
            <ErrCell err={errOf(sum, by)} by={by} />}
        <Share part={total(sum, by)} of={total(props.whole, by)}
            most={props.most ?? total(props.whole, by)} />
        {by === "blocks" ? <Cell x={sum.bytes} by="bytes" />
            : <Cell x={sum.blocks} by="blocks" />}
        {!props.exact && <Cell x={sum.n} by="blocks" dim />}
    </>;
}

/* The last rows of a table: what was cut, what else there is, and what all rows
 * add up to. */
export function Foot(props: { rest: Rest | undefined; whole: Sum; by: By;
                              exact: boolean; columns?: number;
                              more?: ComponentChildren }) {
    const { rest } = props;
    const more = Array.from({ length: props.columns ?? 0 }, () => <td />);
    return <tfoot>
        {rest && rest.rows > 0 && <tr class="rest">
            <th scope="row">{countText(rest.rows)} more, not listed</th>
            <SumCells {...props} sum={rest.sum} most={0} />{more}
        </tr>}
        {props.more}
        <tr class="whole">
            <th scope="row">Total</th>
            <SumCells {...props} sum={props.whole} most={0} />{more}
        </tr>
    </tfoot>;
}

/* ---- names ------------------------------------------------------------ */

const NAME_MOST = 240;

/* Marks that turn text around would let one name pose as another. */
export const clean = (text: string) =>
    text.replace(/[\u202a-\u202e\u2066-\u2069\u0000-\u001f]/g, "\ufffd");

export const nameOf = (f: Func | undefined) =>
    clean(f?.name || "[unknown]");

/* The end of a name tells more than its middle. */
export function cutTo(text: string, most: number): string {
    const head = Math.floor((most - 1) / 2);
    return text.length <= most ? text
        : text.slice(0, head) + "…" + text.slice(head + 1 - most);
}

export const cutName = (text: string) => cutTo(text, NAME_MOST);

/* As the report shortens it (view/cxxname.h). */
export const shortOf = (f: Func | undefined) =>
    cutName(clean(f?.short || f?.name || "[unknown]"));

/* What allocated, and who calls it; mmap's sites stand apart. */
export function SiteHead(props: { fn: Func | undefined; q: string;
                                  functions: Func[];
                                  r: { line: number; callers: number[];
                                       is_mapping?: boolean } }) {
    const { r } = props;
    const callers = [...new Set(r.callers.map((c) =>
        "← " + shortOf(props.functions[c])))].join(" ");
    return <th scope="row">
        <Name q={props.q} line={r.line} fn={props.fn} callers={callers} />
        {r.is_mapping && <span class="tag">mapping</span>}
    </th>;
}

/* The whole name is said where a pointer rests on the short one. */
export function FunctionName(props: { fn: Func | undefined; q?: string;
                                  class?: string; isLine?: boolean }) {
    const whole = nameOf(props.fn);
    const short = shortOf(props.fn);
    const head = props.isLine ? headOf(short) : 0;
    return <bdi class={props.class ?? "code"}
        title={whole !== short || whole.length > 60 ? whole : undefined}>
        <Marked text={short} q={props.q ?? ""} head={head} /></bdi>;
}

export const fileOf = (path: string) =>
    clean(path.slice(path.lastIndexOf("/") + 1));

export function placeOf(f: Func | undefined, line?: number): string {
    if (!f) return "";
    const at = f.file ? fileOf(f.file) + (line ? `:${line}` : "") : "";
    const module = f.module && fileOf(f.module);
    /* A name without a symbol has its module: libc.so.6+0x1234. */
    return [at, module === fileOf(f.file) ? "" : module].filter((s) =>
        s !== "" && !f.name.startsWith(s + "+0x")).join(" · ");
}

export function Name(props: { fn: Func | undefined; line?: number;
                              q?: string; callers?: string }) {
    const place = placeOf(props.fn, props.line);
    return <span class="name">
        <FunctionName fn={props.fn} q={props.q ?? ""} isLine />
        {place && <span class="place" title={place}>{cutName(place)}</span>}
        {props.callers && <bdi class="callers" title={props.callers}>
            {props.callers}</bdi>}
    </span>;
}

/* A name on one line keeps its end; what is before it may be cut. */
const TAIL = 16;
const headOf = (text: string) =>
    text.length > TAIL + 4 ? text.length - TAIL : 0;

/* The text with what was searched for marked, its first `head` letters apart. */
function Marked(props: { text: string; q: string; head: number }) {
    const { text, head } = props;
    const { of, spanIn } = searchOf(props.q);
    const [from, to] = of === "any" || of === "function"
        ? spanIn(text) ?? [0, 0] : [0, 0];
    const piece = (a: number, b: number) => {
        const x = Math.min(Math.max(from, a), b);
        const y = Math.min(Math.max(to, x), b);
        return <>{text.slice(a, x)}
            {y > x && <mark>{text.slice(x, y)}</mark>}{text.slice(y, b)}</>;
    };
    return <>{head > 0 && <span class="cut">{piece(0, head)}</span>}
        {piece(head, text.length)}</>;
}

/* ---- controls --------------------------------------------------------- */

export function Choice<T extends string>(props: {
    label: string; value: T; options: readonly (readonly [T, string])[];
    onPick: (value: T) => void;
}) {
    return <div class="choice" role="group" aria-label={props.label}>
        {props.options.map(([value, text]) =>
            <button type="button" key={value}
                aria-pressed={value === props.value}
                onClick={() => props.onPick(value)}>{text}</button>)}
    </div>;
}

export function Waiting<T>(props: {
    asked: Asked<T>; children: (answer: T) => ComponentChildren;
}): JSX.Element {
    const { answer, isWaiting } = props.asked;
    const error = errorOf(props.asked);
    if (error) return error;
    if (answer === undefined)
        return <p class="wait" role="status">Reading…</p>;
    return <div class={isWaiting ? "answer stale" : "answer"}
        aria-busy={isWaiting}>
        {props.children(answer)}
    </div>;
}

export const errorOf = <T,>(asked: Asked<T>) => asked.error === undefined
    ? undefined : <p class="error" role="alert">{asked.error}</p>;

/* What stands over a table, and the way to take the table along. */
export function Over(props: { children: ComponentChildren }) {
    return <div class="over">{props.children}
        <button type="button" class="plain copy" title={"tab-separated values, " +
            "figures in full ( Y )"} onClick={(e) => copyTable(e.currentTarget
            .closest(".answer, .side")?.querySelector("table"))}>
            Copy table</button></div>;
}

export function Region(props: { label: string; children: ComponentChildren;
                                class?: string }) {
    return <div class={"wide " + (props.class ?? "")} role="region"
        aria-label={props.label} tabIndex={0}>{props.children}</div>;
}
