/* heap.tsx -- Holders: what the objects of a heap snapshot hold, and who holds
 * them
 *
 * The figures are those of `aliquot heap --json`, which the server answers with.
 * Pictures are icicles of what goes with each: roots, below them what only they
 * hold, by kind or block by block.  A click goes into a box, and asks for ways
 * from a root to it. */

import type { Func, Node } from "./answers";
import type { Params } from "./state";
import { Cell, Choice, FlameChart, Over, Region, Rows, Share, Waiting, all, back,
         bytesText, clean, clockText, countText, errorOf, found, go, model, more,
         one, percentText, plant, searchQuery, useAnswer, useEffect,
         useMemo } from "./shared";

/* ---- answers ---------------------------------------------------------- */

interface Sums { bytes: number; blocks: number }

interface Head {
    pid: number;
    command: string;
    time_us: number;
    damage?: string;
    held: Sums;
    garbage: Sums;
    left_out?: number;
}

interface Group {
    name: string;
    bytes: number;
    blocks: number;
    own_bytes: number;
    own_blocks: number;
    sites: { site: string; bytes: number; bytes_low: number;
             bytes_high: number; seen_blocks: number }[];
    below: Group[];
    left_out: number;
}

interface Block {
    address: string;
    kind: string;
    own_bytes: number;
    site?: string;
}

interface Retained {
    retained_bytes: number;
    retained_blocks: number;
    root?: string;
    roots?: number;
    held_by?: string;
}

type Row = Retained & Partial<Block>;
type TreeNode = Row & { below: TreeNode[]; left_out: number };

interface Page extends Head {
    holders: Row[];
    holders_left_out: number;
    biggest: Row[];
    biggest_left_out: number;
    kinds: { kind: string; bytes: number; blocks: number;
             garbage_bytes: number; garbage_blocks: number }[];
    kinds_left_out: number;
}

interface Ways {
    blocks: number;
    held: number;
    ways: { root: string; blocks: Block[] }[];
}

/* ---- boxes ------------------------------------------------------------ */

/* A box of either picture. */
interface Item {
    key: string; /* in the address, as one of `at` */
    name: string;
    kind: string; /* gives the colour */
    what: string | undefined; /* whose ways are asked for; a root has none */
    bytes: number;
    blocks: number;
    own: number;
    notes: string[];
    leftOut: number;
    below: Item[];
}

const blockName = (b: Partial<Block>) =>
    `${b.kind} ${b.address}${b.site ? ` of ${b.site}` : ""}`;

const nameOf = (r: Row) => r.root ?? blockName(r);

const ofNode = (n: TreeNode): Item => ({
    key: n.root ?? n.address ?? "", name: nameOf(n), kind: n.kind ?? "",
    what: n.address, bytes: n.retained_bytes, blocks: n.retained_blocks,
    own: n.own_bytes ?? 0, notes: [], leftOut: n.left_out,
    below: n.below.map(ofNode),
});

const ofGroup = (g: Group, depth: number): Item => ({
    key: g.name, name: g.name, kind: depth > 0 ? g.name : "",
    what: depth > 0 ? `kind:${g.name}` : undefined,
    bytes: g.bytes, blocks: g.blocks, own: g.own_bytes, leftOut: g.left_out,
    notes: g.sites.slice(0, 3).map((s) => `${bytesText(s.bytes)} [${
        bytesText(s.bytes_low)}, ${bytesText(s.bytes_high)}] of ${s.site}`),
    below: g.below.map((b) => ofGroup(b, depth + 1)),
});

/* What roots hold, all of it. */
const whole = (head: Head, below: Item[]): Item => ({
    key: "", name: "all that roots hold", kind: "", what: undefined,
    ...head.held, own: 0, notes: [], leftOut: head.left_out ?? 0, below,
});

/* As far as the path leads. */
function walk(item: Item, path: readonly string[]): Item {
    for (const key of path)
        item = item.below.find((b) => b.key === key) ?? item;
    return item;
}

/* Boxes in pre-order, each a function of its own for the picture. */
function pictureOf(root: Item) {
    const items: Item[] = [];
    const nodes: Node[] = [];
    const put = (item: Item, parent: number) => {
        const at = items.push(item) - 1;
        nodes.push([at, parent, item.own, item.bytes, 0, item.blocks, 0, 0]);
        for (const b of item.below) put(b, at);
    };
    put(root, -1);
    const functions = items.map((item, id): Func =>
        ({ id, name: item.name, file: item.kind, module: "" }));
    const forest = plant(functions, nodes, false);
    return { items, functions, forest,
             m: model(undefined, forest, [], "down") };
}

/* ---- the picture ------------------------------------------------------ */

/* Names that were seen: an address in the address of the page is one. */
const names = new Map<string, string>();

function Crumbs(props: { at: readonly string[] }) {
    const { at } = props;
    return <nav class="crumbs" aria-label="Focus">
        <button type="button" onClick={() => go({ at: undefined })}>All</button>
        <ol>{at.map((key, i) => <li key={i}>
            <button type="button" onClick={() => go({ at: at.slice(0, i + 1) })}>
                <bdi>{clean(names.get(key) ?? key)}</bdi></button>
        </li>)}</ol>
    </nav>;
}

function Icicle(props: { params: Params; root: Item; held: Sums }) {
    const { params, root, held } = props;
    const at = all(params, "at");
    const q = one(params, "q") ?? "";
    const { items, functions, forest, m } = useMemo(() => pictureOf(root),
                                                    [root]);
    for (const item of items) names.set(item.key, item.name);
    const matches = useMemo(() => found(functions, q), [functions, q]);
    const itemAt = (part: string, box: number) =>
        part === "focus" ? root : items[forest.fn[box] as number];
    const say = ({ part, box }: { part: string; box: number }) => {
        const item = itemAt(part, box);
        if (!item) {
            const above = items[forest.parent[box] as number] as Item;
            return [above.leftOut > 0
                ? `not drawn: ${countText(above.leftOut)} others, too small to see`
                : "not drawn: go into the box above for more",
                    bytesText(forest.value[box] as number)];
        }
        return [clean(item.name), `${bytesText(item.bytes)} in ${
            countText(item.blocks)} blocks`,
                `${percentText(item.bytes / held.bytes)} of what is held`,
                ...(item.own > 0 ? [`${bytesText(item.own)} its own`] : []),
                ...item.notes.map(clean)];
    };
    return <>
        {at.length > 0 && <Crumbs at={at} />}
        <FlameChart model={m} colour="part" matches={matches}
            isSearching={searchQuery(q) !== ""}
            label="Holders: an icicle. The tables below have the biggest."
            boxLabel={(part, box) => clean(itemAt(part, box)?.name ?? "")}
            describe={say}
            onFocus={(f) => {
                const path: string[] = [];
                for (let box = f.at(-1) ?? 0; box > 0;
                    box = forest.parent[box] as number)
                    path.unshift((items[box] as Item).key);
                if (path.length > 0) go({ at: [...at, ...path] });
            }}
            onBack={() => back() || go({ at: undefined })}
            onPick={({ part, box }) => {
                const what = itemAt(part, box)?.what;
                go({ what }, "replace");
            }} />
        <p class="under">
            <span><b data-total={root.bytes}>{bytesText(root.bytes)}</b>
                <span class="dim"> in </span>
                <b data-total={root.blocks}>{countText(root.blocks)}</b>
                <span class="dim"> blocks</span></span>
            {forest.cut > 0 && <span class="dim">Not drawn: what is deeper, or
                too small, {bytesText(forest.cut)} in all, hatched.</span>}
        </p>
    </>;
}

/* By kind all is there at once; by block the server goes into one. */
function Picture(props: { params: Params; isByBlock: boolean }) {
    const { params, isByBlock } = props;
    const at = all(params, "at");
    const last = at.at(-1);
    const asked = useAnswer<Head & { groups?: Group[]; tree?: TreeNode[] }>(
        isByBlock ? "heap/tree" : "heap/holders",
        isByBlock && last !== undefined
            ? `below=${encodeURIComponent(last)}` : "");
    const { answer } = asked;
    const root = useMemo(() => {
        if (answer?.tree)
            return last !== undefined ? answer.tree.map(ofNode)[0]
                : whole(answer, answer.tree.map(ofNode));
        return answer?.groups && walk(whole(answer, answer.groups.map((g) =>
            ofGroup(g, 0))), at);
    }, [answer, at.join("\n")]);
    return <Waiting asked={asked}>{(head) => root &&
        <Icicle params={params} root={root} held={head.held} />}</Waiting>;
}

/* ---- ways ------------------------------------------------------------- */

/* The ends of a way say most, as in the command. */
const SHOWN = 12;

function Way(props: { way: Ways["ways"][number] }) {
    const { blocks } = props.way;
    const cut = blocks.length > SHOWN ? blocks.length - SHOWN : 0;
    const shown = cut > 0 ? [...blocks.slice(0, SHOWN / 2), undefined,
                             ...blocks.slice(-SHOWN / 2)] : blocks;
    return <li><ol class="way"><li><b>{clean(props.way.root)}</b></li>
        {shown.map((b, i) => <li key={i}>{b
            ? <button type="button" class="link" data-address={b.address}
                onClick={() => go({ as: "blocks", at: [b.address],
                                    what: b.address })}>
                {clean(blockName(b))}</button>
            : <span class="dim">{countText(cut)} blocks</span>}</li>)}
    </ol></li>;
}

function WaysPanel(props: { what: string }) {
    const asked = useAnswer<Ways>("heap/path",
                                  `what=${encodeURIComponent(props.what)}`);
    const { answer } = asked;
    if (!answer) return errorOf(asked) ?? null;
    return <Region label="Ways from a root"><h2>
        The shortest {answer.ways.length === 1 ? "way" : "ways"} from a root
        to {clean(props.what.replace("kind:", ""))}{" "}
        {answer.blocks > 1 && <span class="dim">{countText(answer.blocks)} found;
            roots lead to {countText(answer.held)}</span>}</h2>
        <ol class="ways">{answer.ways.map((w, i) => <Way key={i} way={w} />)}
        </ol>
    </Region>;
}

/* ---- tables ----------------------------------------------------------- */

const LISTS = [["biggest", "Biggest blocks"], ["roots", "Roots"],
               ["kinds", "Kinds"]] as const;

const LeftOut = (props: { n: number }) => props.n === 0 ? null
    : <tfoot><tr class="rest"><th scope="row" colSpan={5}>
        {countText(props.n)} more, not listed</th></tr></tfoot>;

function Retainers(props: { rows: Row[]; held: Sums; label: string;
                            head: string; leftOut: number }) {
    const { rows, held } = props;
    return <Region label={props.label}><table class="figures">
        <thead><tr>
            <th scope="col">{props.head}</th>
            <th scope="col" class="n">Bytes</th>
            <th scope="col" class="n">Share</th>
            <th scope="col" class="n">Blocks</th>
            <th scope="col" class="n">Own</th>
        </tr></thead>
        <Rows rows={rows} keyOf={(r) => r.address ?? r.root ?? ""}
            onPick={(r) => go({ what: r.address }, "replace")}
            onEnter={(r) => go({ as: "blocks", at: [r.address ?? r.root ?? ""] })}
            cells={(r) => <>
                <th scope="row"><span class="name">
                    <bdi class="code">{clean(nameOf(r))}</bdi>
                    {r.held_by && <bdi class="callers" title={clean(r.held_by)}>
                        ← {clean(r.held_by)}</bdi>}</span></th>
                <Cell x={r.retained_bytes} by="bytes" />
                <Share part={r.retained_bytes} of={held.bytes} />
                <Cell x={r.retained_blocks} by="blocks" />
                <Cell x={r.own_bytes ?? 0} by="bytes" dim />
            </>} />
        <LeftOut n={props.leftOut} />
    </table></Region>;
}

function Kinds(props: { page: Page }) {
    const { page } = props;
    return <Region label="Kinds"><table class="figures">
        <thead><tr>
            <th scope="col">Kind</th>
            <th scope="col" class="n">Own bytes</th>
            <th scope="col" class="n">Share</th>
            <th scope="col" class="n">Blocks</th>
            <th scope="col" class="n">Garbage</th>
        </tr></thead>
        <Rows rows={page.kinds} keyOf={(k) => k.kind}
            onPick={(k) => go({ what: `kind:${k.kind}` }, "replace")}
            cells={(k) => <>
                <th scope="row"><bdi class="code">{clean(k.kind)}</bdi></th>
                <Cell x={k.bytes} by="bytes" />
                <Share part={k.bytes} of={page.held.bytes} />
                <Cell x={k.blocks} by="blocks" />
                <Cell x={k.garbage_bytes} by="bytes" dim />
            </>} />
        <LeftOut n={page.kinds_left_out} />
    </table></Region>;
}

/* ---- the view --------------------------------------------------------- */

const SIDES = [["kinds", "By kind"], ["blocks", "By block"]] as const;

function View(props: { params: Params }) {
    const { params } = props;
    const isByBlock = one(params, "as") === "blocks";
    const list = LISTS.find(([l]) => l === one(params, "list"))?.[0] ?? "biggest";
    const what = one(params, "what");
    const asked = useAnswer<Page>("heap/page", "");
    const page = asked.answer;
    useEffect(() => {
        if (page) document.title = `Heap of ${page.command} – Aliquot`;
    }, [page]);
    return <section class="view fill holders">
        <div class="tools">
            <Choice label="Holders" value={isByBlock ? "blocks" : "kinds"}
                options={SIDES} onPick={(a) => go({ at: undefined,
                    as: a === "blocks" ? a : undefined })} />
            {page && <p class="dim">{clean(page.command)}, process {page.pid},{" "}
                {clockText(page.time_us)}: held {bytesText(page.held.bytes)} in{" "}
                {countText(page.held.blocks)} blocks, garbage{" "}
                {bytesText(page.garbage.bytes)}
                {page.damage && <b>; the file is damaged: {clean(page.damage)}
                </b>}</p>}
        </div>
        <div class="picture"><Picture params={params} isByBlock={isByBlock} />
        </div>
        {what && <WaysPanel what={what} />}
        <Waiting asked={asked}>{(p) => <>
            <Over><Choice label="Table" value={list} options={LISTS}
                onPick={(l) => go({ list: l === "biggest" ? undefined : l })} />
            </Over>
            {list === "kinds" ? <Kinds page={p} />
                : list === "roots" ? <Retainers held={p.held} label="Roots"
                    head="Root" rows={p.holders} leftOut={p.holders_left_out} />
                : <Retainers held={p.held} label="Biggest blocks"
                    head="Block, and what holds it alone" rows={p.biggest}
                    leftOut={p.biggest_left_out} />}
        </>}</Waiting>
    </section>;
}

more.set({ name: "holders", title: "Holders", View });
