/* holders_test.mjs -- a heap snapshot in the page: its figures are those of
 * `aliquot heap --json` */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { SOURCE, aliquot, axeSource, close, dir, faults, golden, hash, open, serve,
         settled } from "./harness.mjs";

const GRAPHS = 8, SEED = Number(process.env.ALQ_TEST_SEED ?? 0);

const heap = (...args) => JSON.parse(aliquot("heap", "--json", ...args));

/* A vector that holds lists of several lengths, and what two roots share. */
const LISTS = `
import sys
from snapshots import *
s, at, lists = Snapshot(), 0x100000, []
s.program(4711, 1790000000000000, '/bin/prog', '--x')
s.kind(0, 'pair'); s.kind(1, 'vector'); s.kind(252, 'string')
s.site(7, (0, 'make_list', 'list.c', 12))
for length in [3000, 40, 40, 7] + 3000 * [1]:
    lists.append(at)
    for i in range(length):
        s.block(at, 2, 0, None, [at + 0x20] if i < length - 1 else [])
        at += 0x20
s.block(0x10008, len(lists), 1, None, lists)
s.block(0x20008, 9, 252)
s.root(GLOBAL, 0, 0x404000, 'all', 0x10008)
s.root(GLOBAL, 0, 0x404008, 'one', 0x20008)
s.root(FRAME, 0, 0x7ffc0010, 'main:3', 0x20008)
s.sample(lists[1], 7, 1, 0.01)
open(sys.argv[1], 'wb').write(s.end())
`;

let lists;

before(() => {
    lists = join(dir, "lists.heap");
    execFileSync("python3", ["-B", "-c", LISTS, lists],
                 { cwd: join(SOURCE, "tests/heapview") });
    execFileSync("python3", ["-B", join(SOURCE, "tests/heapview/snapshots.py"),
                             dir, String(GRAPHS), String(7000 + 1000 * SEED)]);
});
after(close);

const totals = (page) => page.locator(".picture [data-total]")
    .evaluateAll((list) => list.map((b) => Number(b.dataset.total)));

/* Every row of a table: its name, and its cells' figures. */
const tableOf = (page, label) => page
    .getByRole("region", { name: label, exact: true })
    .locator("tbody tr").evaluateAll((rows) => rows.map((r) => [
        r.querySelector("th .code").textContent,
        ...[...r.querySelectorAll("td")].map((c) => Number(c.dataset.v))]));

const nameOf = (r) => r.root ??
    `${r.kind} ${r.address}${r.site ? ` of ${r.site}` : ""}`;

const rowOf = (held) => (r) => [nameOf(r), r.retained_bytes,
    held.bytes > 0 ? r.retained_bytes / held.bytes : 0, r.retained_blocks,
    r.own_bytes ?? 0];

const to = async (page, address) => {
    await page.evaluate((h) => { location.hash = h; }, address);
    await settled(page);
};

test("tables, groups and blocks of random graphs", async () => {
    for (let i = 0; i < GRAPHS; i++) {
        const file = join(dir, `${i}.heap`);
        const s = await serve(file);
        const { page, done } = await open(s.url);
        await settled(page);
        assert.equal(hash(page), "#view=holders");
        const r = heap("--top=30", file);
        assert.deepEqual(await totals(page), [r.held.bytes, r.held.blocks]);
        assert.deepEqual(await tableOf(page, "Biggest blocks"),
                         r.biggest.map(rowOf(r.held)));
        await page.getByRole("button", { name: "Roots", exact: true }).click();
        assert.deepEqual(await tableOf(page, "Roots"),
                         r.holders.map(rowOf(r.held)));
        await page.getByRole("button", { name: "Kinds", exact: true }).click();
        assert.deepEqual(await tableOf(page, "Kinds"), r.kinds.map((k) =>
            [k.kind, k.bytes, r.held.bytes > 0 ? k.bytes / r.held.bytes : 0,
             k.blocks, k.garbage_bytes]));

        /* Into each group, and into each block. */
        const groups = async (list, path) => {
            for (const g of list) {
                const at = [...path, g.name];
                await to(page, "#view=holders&" + at.map((a) =>
                    `at=${encodeURIComponent(a)}`).join("&"));
                assert.deepEqual(await totals(page), [g.bytes, g.blocks],
                                 at.join(" / "));
                await groups(g.below, at);
            }
        };
        await groups(heap("--holders", "--depth=16", "--top=0", file).groups, []);
        const blocks = async (list) => {
            for (const n of list) {
                await to(page, "#view=holders&as=blocks&at=" +
                    encodeURIComponent(n.root ?? n.address));
                assert.deepEqual(await totals(page),
                                 [n.retained_bytes, n.retained_blocks]);
                await blocks(n.below);
            }
        };
        await blocks(heap("--tree", "--depth=64", "--top=0", file).tree);
        await done();
        await s.stop();
    }
});

test("an icicle by pointer and keys: in, back, and ways", async () => {
    const s = await serve(lists);
    const { page, requests, done } = await open(s.url);
    await settled(page);
    assert.ok(requests.some((r) => r.endsWith("/heap.js")));
    assert.match(await page.title(), /^Heap of \/bin\/prog --x/);
    const said = () => page.locator(".said").innerText();
    const r = heap("--holders", "--depth=16", "--top=0", lists);

    await page.keyboard.press("g");
    for (const [name, bytes] of [["all that roots hold", r.held.bytes],
                                 ["global all", r.groups[0].bytes],
                                 ["vector", r.groups[0].below[0].bytes]]) {
        await page.keyboard.press("ArrowDown");
        assert.ok((await said()).startsWith(name), await said());
        const figure = /([\d.]+) KiB/.exec(await said())[1];
        assert.ok(Math.abs(Number(figure) / (bytes / 1024) - 1) < 0.005,
                  `${figure} KiB, ${bytes}`);
    }
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(hash(page), /at=global%20all&at=vector$|at=global%20all&at=vector&/);
    assert.match(hash(page), /what=kind:vector/);
    const ways = page.getByRole("region", { name: "Ways from a root" });
    await ways.waitFor();
    const wanted = heap("--path=kind:vector", "--top=3", lists);
    const addresses = (w) => w.locator("[data-address]").evaluateAll((list) =>
        list.map((b) => b.dataset.address));
    assert.deepEqual(await addresses(ways),
                     wanted.ways.flatMap((w) => w.blocks.map((b) => b.address)));
    assert.deepEqual(await ways.locator(".way > li:first-child").allInnerTexts(),
                     wanted.ways.map((w) => w.root));

    /* A block of a way: its own picture, what is too small is counted. */
    await ways.getByRole("button").first().click();
    await settled(page);
    assert.match(hash(page), /as=blocks/);
    const below = heap("--below=0x10008", "--depth=12", "--top=0", lists);
    assert.deepEqual(await totals(page), [below.tree[0].retained_bytes,
                                          below.tree[0].retained_blocks]);
    await page.locator(".flame").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    for (let i = 0; i < 9 && !(await said()).startsWith("not drawn"); i++)
        await page.keyboard.press("ArrowRight");
    const small = below.tree[0].below.filter((b) => b.retained_bytes <
        below.tree[0].retained_bytes / 2000).length;
    assert.ok(small >= 3000);
    assert.match(await said(), /^not drawn: [\d.k]+ others, too small to see/);

    /* A sampled block says who made it; the address leads there and back. */
    await page.getByText("make_list (list.c:12)").first().click();
    await settled(page);
    await ways.waitFor();
    await page.getByRole("button", { name: "All", exact: true }).first().click();
    await settled(page);
    assert.doesNotMatch(hash(page), /[#&]at=/);
    await page.goBack();
    await settled(page);
    assert.match(hash(page), /[#&]at=0x10008/);
    await page.keyboard.press("/");
    await page.keyboard.type("string");
    await page.waitForFunction(() => location.hash.includes("q=string"));
    await done();
    await s.stop();
});

test("a long way is cut in its middle, and says by how much", async () => {
    const s = await serve(lists);
    const last = heap("--tree", "--below=0x10008", "--depth=1", "--top=1", lists)
        .tree[0].below[0].address;
    const end = "0x" + (BigInt(last) + 2999n * 32n).toString(16);
    const { page, done } = await open(`${s.url}#view=holders&what=${end}`);
    await settled(page);
    const ways = page.getByRole("region", { name: "Ways from a root" });
    await ways.waitFor();
    assert.equal(await ways.locator("[data-address]").count(), 12);
    const n = heap(`--path=${end}`, lists).ways[0].blocks.length;
    assert.equal(n, 3001);
    assert.equal(await ways.locator(".way > li .dim").innerText(), "2989 blocks");
    await done();
    await s.stop();
});

test("beside a trace the tab is one more, and no answer is another's", async () => {
    const s = await serve(golden("wordcount-1e-3.v2"), lists);
    const { page, done } = await open(s.url);
    await settled(page);
    assert.match(hash(page), /^#view=flame/);
    assert.equal(await page.locator(".tabs li").count(), 11);
    await page.keyboard.press("Shift+H");
    await settled(page);
    assert.match(hash(page), /^#view=holders/);
    assert.deepEqual(await totals(page), Object.values(
        heap(lists).held));
    await page.getByRole("link", { name: "Sites", exact: true }).click();
    await settled(page);
    await page.getByRole("region", { name: "Allocation sites" }).waitFor();
    await done();
    await s.stop();

    /* Without a snapshot nothing of it is loaded. */
    const plain = await serve(golden("wordcount-1e-3.v2"));
    const without = await open(plain.url);
    await settled(without.page);
    assert.ok(!without.requests.some((r) => r.includes("heap")));
    assert.equal(await without.page.locator(".tabs li").count(), 10);
    await without.done();
    await plain.stop();
});

test("in any window, for all eyes", async () => {
    const s = await serve(lists);
    for (const colorScheme of ["light", "dark"])
        for (const width of [1280, 400]) {
            const { page, done } = await open(
                `${s.url}#view=holders&at=global%20all&what=kind:vector`,
                { viewport: { width, height: 800 }, colorScheme,
                  bypassCSP: true });
            await settled(page);
            await page.getByRole("region", { name: "Ways from a root" }).waitFor();
            await page.evaluate(axeSource());
            assert.deepEqual(await faults(page), [], `${colorScheme} ${width}`);
            assert.equal(await page.evaluate(() => document.documentElement
                .scrollWidth <= innerWidth), true, `${width}`);
            await done();
        }
    await s.stop();
});
