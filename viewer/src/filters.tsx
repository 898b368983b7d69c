/* filters.tsx -- presets, what is filtered now, and the way to more of it */

import type { Info, TraceInfo } from "./answers";
import { chips } from "./filter_text";
import { FilterForm } from "./filter_form";
import { Choice, clean, cutName, fileOf } from "./parts";
import type { Params, Preset } from "./state";
import { FILTER_KEYS, byOf, go, isPreset, one, presets } from "./state";
import { store } from "./store";

export const formIsOpen = store(false);

export const WEIGHTS = [["bytes", "Bytes"], ["blocks", "Blocks"],
                        ["samples", "Samples"]] as const;

export function Chips(props: { params: Params; trace: TraceInfo;
                               side: "" | "b."; none?: string }) {
    const list = chips(props.params, props.trace, props.side);
    if (list.length === 0)
        return <span class="dim none">
            {props.none ?? "everything that was allocated"}</span>;
    return <ul class="chips" aria-label="Filter">
        {list.map((chip) => <li key={chip.text}>
            <bdi>{cutName(clean(chip.text))}</bdi>
            <button type="button" onClick={() => go(chip.without)}
                aria-label={"Remove: " + cutName(clean(chip.text))}>×</button>
        </li>)}
    </ul>;
}

export function PresetSelect(props: { label: string; list: Preset[];
                                      params: Params;
                                      onPick: (preset: Preset) => void }) {
    const { list } = props;
    const preset = list.find((p) => isPreset(props.params, p));
    return <select aria-label={props.label} value={preset?.name ?? ""}
        onChange={(e) => {
            const picked = list.find((p) => p.name === e.currentTarget.value);
            if (picked) props.onPick(picked);
        }}>
        {!preset && <option value="">Other times</option>}
        {list.map((p) => <option key={p.name} value={p.name} title={p.title}>
            {p.name}</option>)}
    </select>;
}

export function TraceChoice(props: { info: Info; params: Params }) {
    const { info, params } = props;
    if (info.traces.length < 2) return null;
    return <label class="trace-choice"><span>Trace </span>
        <select aria-label="Trace" value={one(params, "t") ?? "0"} onChange={(e) =>
            go({ t: e.currentTarget.value, focus: undefined,
                 fn: undefined })}>
            {info.traces.map((t, i) =>
                <option key={i} value={String(i)}>{fileOf(t.name)}</option>)}
        </select>
    </label>;
}

export function FormButton() {
    const isOpen = formIsOpen.use();
    return <button type="button" class="plain" aria-expanded={isOpen}
        aria-controls="filter-form" onClick={() => formIsOpen.set(!isOpen)}>
        {isOpen ? "Close filter" : "Filter…"}</button>;
}

export function FormPlace(props: { params: Params; trace: TraceInfo }) {
    const isOpen = formIsOpen.use();
    return <div id="filter-form" hidden={!isOpen}>
        {isOpen && <FilterForm {...props} side="" />}
    </div>;
}

export function FilterBar(props: { info: Info; trace: TraceInfo;
                                   params: Params }) {
    const { params, trace } = props;
    const list = presets(trace.end_us);
    const kept = new Set(["t", "recursion", "threads", "by"]);
    const nothing = Object.fromEntries(FILTER_KEYS.filter((k) => !kept.has(k))
        .map((k) => [k, undefined]));
    return <section class="filters" aria-label="Filter">
        <div class="tools">
            <div class="choice" role="group" aria-label="Presets">
                {list.map((p) => <button type="button" key={p.name}
                    title={p.title} aria-pressed={isPreset(params, p)}
                    onClick={() => go(p.keys)}>{p.name}</button>)}
            </div>
            <TraceChoice info={props.info} params={params} />
            <Choice label="Weigh by" value={byOf(params)}
                options={WEIGHTS}
                onPick={(by) => go({ by: by === "bytes" ? undefined : by })} />
        </div>
        <div class="filter-now">
            <FormButton />
            <Chips params={params} trace={trace} side="" />
            {chips(params, trace).length > 1 &&
                <button type="button" class="plain"
                    onClick={() => go(nothing)}>Clear all</button>}
        </div>
        <FormPlace params={params} trace={trace} />
    </section>;
}
