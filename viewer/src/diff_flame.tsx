/* diff_flame.tsx -- two filters in one flame graph
 *
 * A box is as wide as both sides together, so that what vanished is seen as
 * well as what is new; its colour says which way it changed, and how surely. */

import { useMemo } from "preact/hooks";
import type { Sum, Tree } from "./answers";
import { query, useAnswer } from "./ask";
import { zOf } from "./colours";
import { MIN_SHARE, focusQuery } from "./flame";
import { found, searchQuery } from "./find";
import { FlameChart } from "./flame_chart";
import type { Part } from "./flame_model";
import { forestOf, model as modelOf } from "./flame_model";
import type { Forest } from "./forest";
import { plant } from "./forest";
import { bytesText, percentText } from "./format";
import { SumLine, Waiting, errAt, errText, placeOf, shortOf } from
    "./parts";
import { pick } from "./selection";
import type { Params } from "./state";
import { back, focusOf, go, one } from "./state";

type DiffTree = Tree & { b: Sum; b_focus: Sum };

function words(f: Forest, box: number): string[] {
    const a = f.value[box] as number;
    const b = f.bValue?.[box] ?? 0;
    const error = Math.hypot(f.error[box] as number, f.bError?.[box] ?? 0);
    const z = zOf(b - a, error);
    const sign = b >= a ? "+" : "−";
    return [
        `A ${bytesText(a)}, B ${bytesText(b)}`,
        `${f.samples[box]} and ${f.bSamples?.[box] ?? 0} sampled`,
        `${sign}${bytesText(Math.abs(b - a))} ` +
            errText({ ...errAt(f, box), value: b - a, se: error }, "bytes"),
        error <= 0 ? "" : Math.abs(z) < 2 ? "may be chance"
            : `${Math.abs(z).toFixed(1)} standard errors`,
    ].filter((s) => s !== "");
}

function Graph(props: { tree: DiffTree; params: Params; exact: boolean;
                        fragment: number[] }) {
    const { tree, params } = props;
    const grows = one(params, "grow") === "up" ? "up" : "down";
    const q = one(params, "q") ?? "";
    const m = useMemo(() => modelOf(undefined, plant(tree.functions, tree.nodes,
        false,
        (d) => (d[3] as number) + (d[8] ?? 0),
        (d) => (d[2] as number) + (d[10] ?? 0)), props.fragment, grows),
        [tree, grows]);
    const matches = useMemo(() => found(tree.functions, q), [tree, q]);
    const funcAt = (part: Part, box: number) => {
        const forest = forestOf(m, part);
        if (!forest)
            return tree.functions.find((f) => f.id === m.fragment[box]);
        return tree.functions[forest.fn[box] as number];
    };
    return <>
        <FlameChart model={m} colour="diff" matches={matches} isSearching={searchQuery(q) !== ""}
            label="Differences as a flame graph; the table has them by site."
            boxLabel={(part, box) => {
                const f = funcAt(part, box);
                return f ? shortOf(f) : "all of A and B";
            }}
            describe={(at, name) => {
                const f = funcAt(at.part, at.box);
                const forest = forestOf(m, at.part);
                if (forest && !f) return ["not drawn: paths too small to see"];
                return [f ? name(f) : "all", placeOf(f),
                    ...words(forest ?? m.callees as Forest,
                             forest ? at.box : 0)].filter((s) => s !== "");
            }}
            onFocus={(f) => go({ focus: f.join(",") })}
            onBack={() => back() || go({ focus: undefined })}
            onPick={(at) => {
                const fn = funcAt(at.part, at.box);
                if (fn) pick({ fn });
            }} />
        <p class="under">
            <SumLine sum={tree.focus} exact={props.exact} label="A" />
            <SumLine sum={tree.b_focus} exact={props.exact} label="B" />
            <span class="scale" aria-hidden="true">
                <i class="less" />less in B <i class="same" />no more than
                chance <i class="more" />more in B</span>
            {(m.callees?.cut ?? 0) > 0 && <span class="dim">Not drawn: paths
                below {percentText(MIN_SHARE)}, hatched.</span>}
        </p>
    </>;
}

export function DiffGraph(props: { params: Params; both: string;
                                   exact: boolean }) {
    const fragment = focusOf(props.params);
    const asked = useAnswer<DiffTree>("difftree", query(props.both,
        `min=${MIN_SHARE}`, "dir=down",
        focusQuery(fragment)));
    return <>
        {fragment.length > 0 && <div class="tools"><button type="button"
            class="plain" onClick={() => go({ focus: undefined })}>
            Leave the focus</button></div>}
        <Waiting asked={asked}>{(tree) => <Graph tree={tree}
            params={props.params} exact={props.exact} fragment={fragment} />}
        </Waiting>
    </>;
}
