/* filter_form.tsx -- every key of the filter as a field
 *
 * A field takes effect when it is left or Enter is pressed; what it cannot
 * read it says, and the filter stays as it was. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import type { TraceInfo } from "./answers";
import { REACHES, hasHeaps, heapName } from "./answers";
import { parseSize, parseTime, sizeEntry, timeEntry } from "./format";
import { PhaseChoice } from "./marks";
import { clean } from "./parts";
import { threadName } from "./filter_text";
import type { Params } from "./state";
import { all, go, one, parseRange, rangeText } from "./state";

interface Kind {
    parse: (text: string) => number | undefined;
    show: (x: number) => string;
    hint: string;
    example: [string, string];
}

const TIME: Kind = { parse: parseTime, show: timeEntry,
                     hint: "write a time, as 200ms, 1.5s or 2m",
                     example: ["0 s", "end"] };
const LIFE: Kind = { ...TIME, example: ["10 ms", "any"] };
const SIZE: Kind = { parse: parseSize, show: sizeEntry,
                     hint: "write a size, as 64, 4k or 1.5 MiB",
                     example: ["0 B", "any"] };

function Entry(props: { label: string; value: string; hint: string;
                        placeholder: string;
                        onText: (text: string) => boolean; wide?: boolean }) {
    const id = useId();
    const [text, setText] = useState(props.value);
    const [isBad, setBad] = useState(false);
    useEffect(() => {
        setText(props.value);
        setBad(false);
    }, [props.value]);
    return <span class="entry">
        <input type="text" value={text} aria-label={props.label}
            class={props.wide ? "wide-entry" : ""} spellcheck={false}
            autocomplete="off" placeholder={props.placeholder}
            aria-invalid={isBad} aria-describedby={isBad ? id : undefined}
            onInput={(e) => setText(e.currentTarget.value)}
            onChange={(e) => setBad(!props.onText(e.currentTarget.value))} />
        {isBad && <span class="bad" id={id} role="alert">{props.hint}</span>}
    </span>;
}

function RangeField(props: { params: Params; name: string; label: string;
                             kind: Kind }) {
    const { params, name, label, kind } = props;
    const range = parseRange(one(params, name)) ??
        { from: undefined, to: undefined };
    const set = (end: "from" | "to") => (text: string) => {
        const x = text.trim() === "" ? undefined : kind.parse(text);
        if (x === undefined && text.trim() !== "") return false;
        const next = { ...range, [end]: x };
        if (next.from !== undefined && next.to !== undefined &&
            next.from > next.to) return false;
        go({ [name]: rangeText(next) });
        return true;
    };
    const shown = (x: number | undefined) =>
        x === undefined ? "" : kind.show(x);
    const hint = kind.hint + "; from is not above to";
    return <>
        <Entry label={`${label}, from`} value={shown(range.from)} hint={hint}
            placeholder={kind.example[0]} onText={set("from")} />
        <span class="dim">to</span>
        <Entry label={`${label}, to`} value={shown(range.to)} hint={hint}
            placeholder={kind.example[1]} onText={set("to")} />
    </>;
}

/* A range, or one of a few words. */
function WordOrRange(props: { params: Params; name: string; label: string;
                              words: readonly (readonly [string, string])[];
                              moment: boolean }) {
    const { params, name, label } = props;
    const value = one(params, name);
    const isMoment = value !== undefined && /^\d+$/.test(value);
    const kind = value === undefined ? "" : isMoment ? "at"
        : props.words.some(([w]) => w === value) ? value
        : parseRange(value) ? "range" : value;
    const choose = (k: string) => go({ [name]: k === "" ? undefined
        : k === "at" ? "0" : k === "range" ? "0.." : k });
    return <>
        <select aria-label={label} value={kind}
            onChange={(e) => choose(e.currentTarget.value)}>
            <option value="">any</option>
            {props.words.map(([w, text]) =>
                <option key={w} value={w}>{text}</option>)}
            {props.moment && <option value="at">at a time</option>}
            <option value="range">in a range</option>
        </select>
        {kind === "at" && <Entry label={`${label}, at`} hint={TIME.hint}
            value={timeEntry(Number(value))} placeholder="1 s"
            onText={(text) => {
                const us = parseTime(text);
                if (us !== undefined) go({ [name]: String(us) });
                return us !== undefined;
            }} />}
        {kind === "range" && <RangeField params={params} name={name}
            label={label} kind={TIME} />}
    </>;
}

function Texts(props: { params: Params; name: string; label: string }) {
    const { params, name, label } = props;
    const values = all(params, name);
    const set = (i: number) => (text: string) => {
        const next = [...values];
        if (text === "") next.splice(i, 1);
        else next[i] = text;
        go({ [name]: next.filter((v, k) => next.indexOf(v) === k) });
        return true;
    };
    return <span class="texts">
        {[...values, ""].map((v, i) => <Entry key={i} wide hint=""
            label={values.length > 0 ? `${label} ${i + 1}` : label} value={v}
            placeholder="part of a name, =name or ~regex" onText={set(i)} />)}
    </span>;
}

function Boxes(props: { label: string; options: [string, string][];
                        chosen: readonly string[];
                        onChoose: (chosen: string[]) => void }) {
    const { options, chosen } = props;
    return <span class="boxes" role="group" aria-label={props.label}>
        {options.map(([value, text]) => <label key={value}>
            <input type="checkbox" checked={chosen.includes(value)}
                onChange={(e) => props.onChoose(e.currentTarget.checked
                    ? [...chosen, value]
                    : chosen.filter((c) => c !== value))} />
            <bdi>{clean(text)}</bdi>
        </label>)}
    </span>;
}

function Field(props: { label: string; children: ComponentChildren }) {
    return <div class="field">
        <span class="field-label">{props.label}</span>
        <span class="field-controls">{props.children}</span>
    </div>;
}

/* A list of some. None chosen is any; where a block is of some for sure, so are
 * all. */
function ListField(props: { params: Params; name: string; label: string;
                            options: [string, string][]; all?: boolean }) {
    const { name, options } = props;
    const names = options.map(([o]) => o);
    return <Boxes label={props.label} options={options}
        chosen={one(props.params, name)?.split(",") ?? (props.all ? names : [])}
        onChoose={(c) => go({ [name]: props.all && !names[c.length] ? undefined
            : names.filter((o) => c.includes(o)).join(",") })} />;
}

const HEAPS = ["minor", "major", "malloc"].map((h): [string, string] =>
    [h, heapName(h)]);

export function FilterForm(props: { params: Params; trace: TraceInfo;
                                    side: "" | "b." }) {
    const { params, trace, side } = props;
    const range = (key: string, label: string, kind: Kind) =>
        <Field label={label}>
            <RangeField params={params} name={side + key} label={label}
                kind={kind} />
        </Field>;
    const texts = (key: string, label: string) =>
        <Field label={label}>
            <Texts params={params} name={side + key} label={label} />
        </Field>;
    return <div class="form">
        {range("alloc", "Allocated in", TIME)}
        {(trace.marks.length > 0 || one(params, side + "phase")) &&
            <Field label="Allocated in phase">
                <PhaseChoice params={params} trace={trace}
                    name={side + "phase"} />
            </Field>}
        <Field label="Live at">
            <WordOrRange params={params} name={side + "live"} label="Live at"
                words={[["peak", "the peak"], ["end", "the end"]]} moment />
        </Field>
        <Field label="Freed in">
            <WordOrRange params={params} name={side + "freed"} label="Freed in"
                words={[["never", "never"], ["..", "at any time"]]}
                moment={false} />
        </Field>
        {range("size", "Size", SIZE)}
        {range("life", "Lifetime", LIFE)}
        {(hasHeaps(trace) || one(params, side + "heap")) && <Field label="Heap">
            <ListField params={params} name={side + "heap"} label="Heap" all
                options={HEAPS} />
        </Field>}
        {(trace.looked || one(params, side + "reach")) &&
            <Field label="Never freed, and">
                <ListField params={params} name={side + "reach"}
                    label="Never freed, and"
                    options={REACHES.map(([r, text]) => [r, text])} />
            </Field>}
        {trace.threads.length > 1 && <Field label="Threads">
            <Boxes label="Threads" chosen={all(params, side + "thread")}
                options={trace.threads.map((t) => [String(t.index),
                    threadName(trace, String(t.index))])}
                onChoose={(c) => go({ [side + "thread"]: c })} />
        </Field>}
        {trace.domains.length > 1 && <Field label="Domains">
            <Boxes label="Domains" chosen={all(params, side + "domain")}
                options={trace.domains.map((d) => [String(d), String(d)])}
                onChoose={(c) => go({ [side + "domain"]: c })} />
        </Field>}
        {texts("in", "Inside function")}
        {texts("infile", "Inside file")}
        {texts("inmodule", "Inside module")}
        {texts("notin", "Not inside")}
        {texts("notinfile", "Not inside file")}
        {texts("notinmodule", "Not inside module")}
        {texts("site", "Allocated by")}
        {texts("hide", "Hide frames")}
        {side === "" && texts("fold", "Fold frames")}
    </div>;
}
