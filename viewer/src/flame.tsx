/* flame.tsx -- the flame graph: a fragment of stacks, who calls it, whom it
 * calls */

import { useMemo } from "preact/hooks";
import type { Func, Sum, TraceInfo, Tree } from "./answers";
import { ask, query, useAnswer, useAsked } from "./ask";
import type { Of } from "./find";
import { Draw, isOwnOf } from "./draw";
import { found, searchOf, searchQuery } from "./find";
import { FlameChart } from "./flame_chart";
import type { Model, Part } from "./flame_model";
import { forestOf, model as modelOf, stackOf } from "./flame_model";
import type { Forest } from "./forest";
import { plant, total } from "./forest";
import { percentText } from "./format";
import { Choice, FunctionName, SumLine, Waiting, clean, cutName, errAt,
         errText, placeOf, shortOf, sumText, saidText } from "./parts";
import { pick } from "./selection";
import type { By, Params } from "./state";
import { back, byOf, filterOf, focusOf, go, one } from "./state";

/* Narrower than a pixel or two of any window; the answer is a few hundred KiB
 * at most. */
export const MIN_SHARE = 0.0005;

export const focusQuery = (focus: number[]) =>
    focus.length > 0 ? `focus=${focus.join(",")}` : "";

interface Names {
    of: (id: number) => Func | undefined;
}

/* The functions of a focus are named even where nothing passes. */
export function namesOf(...trees: ({ functions: Func[] } | undefined)[]): Names {
    const byId = new Map<number, Func>();
    for (const tree of trees)
        for (const f of tree?.functions ?? [])
            if (f.id !== null) byId.set(f.id, f);
    return { of: (id) => byId.get(id) };
}

const funcAt = (m: Model, names: Names, part: Part, box: number) => {
    const forest = forestOf(m, part);
    if (!forest) return names.of(m.fragment[box] as number);
    const fn = forest.fn[box] as number;
    return fn < 0 ? undefined : forest.functions[fn];
};

function describe(f: Forest, box: number, by: By, whole: Sum, focus: Sum) {
    const value = f.value[box] as number;
    const error = errText(errAt(f, box), by);
    const n = f.samples[box] as number;
    const self = f.self[box] as number;
    const parts = [
        saidText(value, by, error),
        percentText(value / total(whole, by)) + " of all",
    ];
    if (total(focus, by) !== total(whole, by))
        parts.push(percentText(value / total(focus, by)) + " of the focus");
    if (self > 0) parts.push(`${saidText(self, by)} its own`);
    parts.push(`${n} sampled`);
    return parts;
}

export function Crumbs(props: { fragment: number[]; names: Names }) {
    const { fragment, names } = props;
    const to = (f: number[]) => go({ focus: f.join(",") });
    if (fragment.length === 0) return null;
    return <nav class="crumbs" aria-label="Focus">
        <button type="button" onClick={() => to([])}>All</button>
        {fragment.length > 1 && <button type="button" class="end"
            title="let go of the outermost function ( [ )"
            aria-label="Let go of the outermost function"
            onClick={() => to(fragment.slice(1))}>⟨ −</button>}
        <ol>
            {fragment.map((id, i) => <li key={i}>
                <button type="button" title="focus on this function alone"
                    onClick={() => to([id])}>
                    <FunctionName fn={names.of(id)} />
                </button>
            </li>)}
        </ol>
        {fragment.length > 1 && <button type="button" class="end"
            title="let go of the innermost function ( ] )"
            aria-label="Let go of the innermost function"
            onClick={() => to(fragment.slice(0, -1))}>− ⟩</button>}
    </nav>;
}

const IN: Record<Of, string> = { any: "in", function: "in", file: "infile",
                                module: "inmodule" };

function Found(props: { params: Params; q: string; whole: Sum; by: By }) {
    const search = searchOf(props.q);
    const { answer } = useAnswer<Tree>("tree", query(filterOf(props.params),
        "depth=1", `${IN[search.of]}=${encodeURIComponent(search.word)}`,
        focusQuery(focusOf(props.params))));
    if (!answer) return null;
    const sum = answer.focus;
    return <span class="found" role="status">
        <mark>{cutName(clean(props.q))}</mark>{" "}
        <b>{saidText(total(sum, props.by), props.by)}</b>
        <span class="dim"> matched, {percentText(
            total(sum, props.by) / total(props.whole, props.by))}</span>
    </span>;
}

/* Both directions of one question, with the fragment they are of. */
interface Picture {
    callers: Tree | undefined;
    callees: Tree | undefined;
    fragment: number[];
}

function Graph(props: { params: Params; trace: TraceInfo; by: By;
                        picture: Picture }) {
    const { params, by, picture } = props;
    const { callers, callees } = picture;
    const grows = one(params, "grow") === "up" ? "up" : "down";
    const q = one(params, "q") ?? "";
    const { m, names } = useMemo(() => {
        const planted = (t: Tree | undefined) =>
            t && plant(t.functions, t.nodes, t === callers);
        return {
            names: namesOf(callers, callees),
            m: modelOf(planted(callers), planted(callees), picture.fragment,
                       grows),
        };
    }, [picture, grows]);
    const matches = useMemo(() => found([callers, callees]
        .flatMap((t) => t?.functions ?? []), q), [picture, q]);
    const answer = (callees ?? callers) as Tree;
    const exact = props.trace.is_exact;
    const cut = Math.max(m.callees?.cut ?? 0, m.callers?.cut ?? 0);

    const said = (at: { part: Part; box: number },
                  name: (f: Func) => string): string[] => {
        const f = funcAt(m, names, at.part, at.box);
        const forest = forestOf(m, at.part);
        if (forest && !f)
            return ["not drawn: paths too small to see",
                    saidText(forest.value[at.box] as number, by)];
        const about = f ? [name(f), placeOf(f)]
            : ["all that passes the filter"];
        return [...about, ...(forest
            ? describe(forest, at.box, by, answer.total, answer.focus)
            : [sumText(answer.focus, exact)])].filter((s) => s !== "");
    };
    const label = (part: Part, box: number) => {
        const f = funcAt(m, names, part, box);
        return f ? shortOf(f)
            : `all: ${saidText(total(answer.focus, by), by)}`;
    };
    return <>
        <Crumbs fragment={m.fragment} names={names} />
        <FlameChart model={m} colour={isOwnOf(params) ? "own" : "part"}
            matches={matches}
            isSearching={searchQuery(q) !== ""} boxLabel={label} describe={said}
            label={"Flame graph. The tree view has the same as a table."}
            onFocus={(f) => go({ focus: f.join(",") })}
            onBack={() => back() || go({ focus: undefined })}
            onPick={(at, spot) => {
                const fn = funcAt(m, names, at.part, at.box);
                const path = stackOf(m, spot);
                if (fn) pick({ fn, ...(path && { stack: path.map((id) =>
                    [names.of(id)] as const) }) });
            }} />
        <p class="under">
            <SumLine sum={answer.focus} exact={exact}
                label={m.fragment.length > 0 ? "In focus" : "Total"} />
            {m.fragment.length > 0 && <SumLine sum={answer.total} exact={exact}
                label="of" />}
            {searchQuery(q) !== "" && <Found params={params} q={q} by={by}
                whole={answer.focus} />}
            {cut > 0 && <span class="dim">Not drawn: paths below{" "}
                {percentText(MIN_SHARE)}, {saidText(cut, by)} in all,
                hatched.</span>}
        </p>
    </>;
}

export function FlameView(props: { params: Params; trace: TraceInfo }) {
    const { params } = props;
    const focus = focusOf(params);
    const up = one(params, "dir") === "up";
    const by = byOf(params);
    const base = query(filterOf(params), `min=${MIN_SHARE}`,
                       focusQuery(focus));
    const both = focus.length > 0;
    const asked = useAsked<Picture>(query(base, `dir=${up}`), async () => {
        const [callees, callers] = await Promise.all([
            both || !up ? ask<Tree>("tree", query(base, "dir=down")) : undefined,
            both || up ? ask<Tree>("tree", query(base, "dir=up")) : undefined,
        ]);
        return { callees, callers, fragment: focus };
    });
    return <section class="view fill">
        <div class="tools">
            {focus.length === 0 && <Choice label="Begin with"
                value={up ? "up" : "down"}
                options={[["down", "From the program"],
                          ["up", "From the sites"]]}
                onPick={(d) => go({ dir: d === "up" ? "up" : undefined })} />}
            <Choice label="Direction"
                value={one(params, "grow") === "up" ? "up" : "down"}
                options={[["down", "Icicle"], ["up", "Flame"]]}
                onPick={(g) => go({ grow: g === "up" ? "up" : undefined })} />
            <Draw params={params} trace={props.trace} />
        </div>
        <Waiting asked={asked}>{(picture) =>
            <Graph params={params} trace={props.trace} by={by}
                picture={picture} />}</Waiting>
    </section>;
}
