/* page_test.mjs -- the page that `aliquot view` serves, used as people do */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LONG, aliquot, axeSource, close, faults, golden, hash, open, report,
         serve, settled, shownTotal, write } from "./harness.mjs";
import { carriedEngine } from "./carried.mjs";
import { TraceFile, dice } from "./trace_file.mjs";

const VIEWS = ["flame", "sites", "tree", "graph", "functions", "hot", "heat",
               "samples", "diff", "trace"];
const NEAR = 1; /* totals are rounded once */

const near = (got, wanted, what) =>
    assert.ok(Math.abs(got - wanted) <= NEAR, `${what}: ${got}, ${wanted}`);

let trace, other, server;

before(async () => {
    trace = golden("upstream-ocamlopt.v3");
    other = golden("wordcount-1e-3.v2");
    server = await serve(trace, other);
});
after(async () => {
    await server?.stop();
    await close();
});

const at = async (where, wishes) => {
    const p = await open(server.url + where, wishes);
    await settled(p.page);
    return p;
};

test("opens with what made up the peak", async () => {
    const { page, requests, done } = await at("");
    assert.equal(hash(page), "#view=flame&live=peak");
    near(await shownTotal(page), report(trace).peak_bytes, "peak");
    assert.match(await page.title(), /^upstream-ocamlopt\.v3\.ctf/);
    assert.ok(requests.length >= 5);
    await done();
});

/* ---- the filter ------------------------------------------------------- */

const press = async (page, name) => {
    await page.getByRole("button", { name, exact: true }).first().click();
    await settled(page);
};

test("presets are filters, and their totals those of the report", async () => {
    const { page, done } = await at("#view=sites");
    const r = report(trace);
    const wanted = [["Live at peak", "live=peak", r.peak_bytes],
                    ["Leaks", "live=end", r.live_bytes],
                    ["Temporary", "freed=..&life=..999", r.temporary_bytes],
                    ["All", "", r.allocated_bytes]];
    for (const [name, filter, bytes] of wanted) {
        await press(page, name);
        assert.equal(hash(page), "#view=sites" + (filter && "&" + filter));
        near(await shownTotal(page), bytes, name);
    }
    await press(page, "Long-lived");
    const life = Math.floor(r.duration_us / 10);
    assert.equal(hash(page), `#view=sites&life=${life}..`);
    const list = await page.locator(".chips").innerText();
    assert.match(list, /^lifetime .* or more/);
    await done();
});

test("a drag on the time line filters, and so do its meanings", async () => {
    const { page, done } = await at("#view=sites");
    const all = await shownTotal(page);
    const drag = async () => {
        const box = await page.locator(".u-over").boundingBox();
        const y = box.y + box.height / 2;
        await page.mouse.move(box.x + box.width / 4, y);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width / 3, y, { steps: 4 });
        await page.mouse.move(box.x + box.width / 2, y, { steps: 4 });
        await page.mouse.up();
        await settled(page);
    };
    for (const [meaning, key] of [["allocated in", "alloc"],
                                  ["live in", "live"],
                                  ["freed in", "freed"]]) {
        await press(page, meaning);
        await drag();
        const m = new RegExp(`[#&]${key}=(\\d+)\\.\\.(\\d+)`).exec(hash(page));
        assert.ok(m, hash(page));
        const end = report(trace).duration_us;
        near(Number(m[1]) / end, 0.25, "begin of the drag");
        assert.ok(Math.abs(Number(m[2]) / end - 0.5) < 0.02, hash(page));
        const part = await shownTotal(page);
        assert.ok(part > 0 && part < all, `${part} of ${all}`);
        await press(page, "All");
    }
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + 20);
    await settled(page);
    assert.match(hash(page), /live=\d+$/);
    await done();
});

test("the time line draws what the address says, and bands filter", async () => {
    const { page, done } = await at("#view=sites");
    const choose = async (label, option) => {
        await page.getByLabel(label, { exact: true }).selectOption(option);
        await settled(page);
    };
    const bands = page.locator(".bands li");
    assert.equal(await bands.count(), 0);
    for (const [draw, unit] of [["blocks", /^[\d.]+[kM]?$/], ["allocated", /B\/s$/],
                                ["allocations", /\d[kM]?\/s$/],
                                ["temporary", /%$/], ["bytes", /B$/]]) {
        await choose("Time line of", draw);
        assert.equal(hash(page), "#view=sites" +
            (draw === "bytes" ? "" : `&draw=${draw}`));
        await page.locator("#timeline").focus();
        await page.keyboard.press("PageDown");
        const said = page.locator(".timeline .legend .at").first();
        await said.filter({ hasText: unit }).waitFor();
    }
    await choose("Stacked", "function");
    assert.equal(hash(page), "#view=sites&stack=function");
    const t = await page.evaluate(() => fetch("api/timeline?stack=function")
        .then((r) => r.json()));
    assert.equal(await bands.count(), t.bands.length);
    assert.equal(await bands.last().locator("button").count(), 0);
    assert.match(await bands.last().innerText(), /^\d+ others/);

    /* On the picture the band at the ground is the first. */
    const name = t.functions[t.bands[0].function].name;
    const box = await page.locator(".u-over").boundingBox();
    const step = t.bands[0].values.reduce((best, v, i, list) =>
        v / t.part[i] > list[best] / t.part[best] ? i : best, 1);
    const spot = [box.x + box.width * (step + 0.5) / t.part.length,
                  box.y + box.height - 2];
    await page.mouse.move(...spot);
    const tip = await page.locator(".tip div").allInnerTexts();
    assert.equal(tip[0], name);
    assert.match(tip[1], /^[\d.]+ [KM]iB live$/);
    assert.match(await page.locator(".bands .here").innerText(),
                 new RegExp("^" + name));
    await page.mouse.click(...spot);
    await settled(page);
    const filtered = `#view=sites&in==${name}&stack=function`;
    assert.equal(hash(page), filtered);
    assert.match(await page.locator(".picked-bar").innerText(),
                 new RegExp("^" + name));

    /* A band of the legend is a switch. */
    const first = bands.first().getByRole("button");
    assert.equal(await first.getAttribute("aria-pressed"), "true");
    await first.click();
    await settled(page);
    assert.equal(hash(page), "#view=sites&stack=function");
    for (const [stack, key] of [["module", /&inmodule==/],
                                ["thread", /&thread=\d/]]) {
        await choose("Stacked", stack);
        await bands.first().getByRole("button").click();
        await settled(page);
        assert.match(hash(page), key);
        await bands.first().getByRole("button").click();
        await settled(page);
        assert.equal(hash(page), `#view=sites&stack=${stack}`);
    }
    await page.evaluate(axeSource());
    assert.deepEqual(await faults(page), []);
    await done();

    /* On a phone the legend is folded, and nothing is wider than the page. */
    const phone = await at("#view=sites&top=full&stack=function",
                           { viewport: { width: 360, height: 800 } });
    assert.equal(await phone.page.locator(".bands li").first().isVisible(),
                 false);
    assert.equal(await phone.page.evaluate(() =>
        document.documentElement.scrollWidth), 360);
    await phone.page.locator(".bands summary").click();
    await phone.page.locator(".bands li").first().waitFor();
    await phone.done();
});

test("both sides of a comparison are one time line", async () => {
    const { page, done } = await at("#view=diff&top=line&b.t=1&as=time");
    const names = await page.locator(".timeline .legend li").allInnerTexts();
    assert.match(names[0], /^A, upstream-ocamlopt/);
    assert.match(names[1], /^B, wordcount/);
    const box = await page.locator(".u-over").boundingBox();
    await page.mouse.move(box.x + 40, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + 90, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("b.alloc"));
    const range = /&alloc=([\d.]+)&b.t=1&b.alloc=([\d.]+)/.exec(hash(page));
    assert.equal(range[1], range[2], hash(page));
    await done();
});

test("a stacked comparison: a colour has one meaning, bands add up", async () => {
    const traces = ["a.ctf", "b.ctf"].map((name, k) => {
        const t = new TraceFile();
        for (let i = 0; i < 14; i++)
            t.at(1000 * (i + 1)).alloc(100 * (k === 0 ? i + 1 : 15 - i),
                [{ name: "main" }, { name: `site_${k === 1 && i > 11 ? "new_" : ""}${i}` }]);
        return write(name, t.bytes());
    });
    const s = await serve(...traces);
    const { page, done } = await open(
        `${s.url}#view=diff&b.t=1&as=time&stack=function`);
    await settled(page);
    const sides = page.locator("main .timeline");
    assert.equal(await sides.count(), 2);
    const legends = await sides.evaluateAll((list) => list.map((side) =>
        [...side.querySelectorAll(".bands li")].map((li) => [
            li.querySelector("bdi").textContent, li.querySelector(".swatch")
                .style.getPropertyValue("--ink")])));
    const inks = new Map();
    for (const [name, ink] of legends.flat()) {
        if (/others$/.test(name)) continue;
        assert.equal(inks.get(name) ?? ink, ink, name);
        inks.set(name, ink);
    }
    assert.equal(new Set(inks.values()).size, inks.size);
    assert.equal(inks.size, 10);
    for (const legend of legends) assert.match(legend.at(-1)[0], /^\d+ others$/);
    /* One scale, and one range for both. */
    const [a, b] = await page.locator("main .u-over").all();
    assert.equal((await a.boundingBox()).width, (await b.boundingBox()).width);
    await sides.nth(1).locator(".bands button").first().click();
    await settled(page);
    const [, kept] = /&in=(=site_\d+)/.exec(hash(page));
    assert.ok(hash(page).includes(`&b.in=${kept}`), hash(page));
    await page.goto(`${s.url}#view=diff&b.t=1&as=graph`);
    await settled(page);
    await press(page, "Recursion");
    assert.match(hash(page), /recursion=keep/);
    assert.equal(await page.getByRole("button", { name: "Own code" }).count(), 0);
    await done();
    await s.stop();
});

test("marks: a click selects a phase, and so does the form", async () => {
    const t = new TraceFile();
    const phase = (us, n, name) => {
        t.at(us);
        if (name) t.mark(name);
        for (let i = 0; i < n; i++) t.alloc(100, [{ name: "main" }]);
    };
    phase(0, 1);
    phase(100_000, 2, "load");
    phase(400_000, 4, "work");
    phase(700_000, 8, "work");
    t.at(1_000_000).alloc(100, [{ name: "main" }]);
    const s = await serve(write("marks.ctf", t.bytes()));
    const { page, complaints, done } = await open(`${s.url}#view=sites&top=full`);
    await settled(page);
    const blocks = async () => Number(/in (\d+)/.exec(
        (await page.locator("main").innerText()).replaceAll(",", ""))?.[1]);
    const all = await blocks();
    const press = async (title, key, part) => {
        await page.locator(".marks").getByTitle(title).click();
        await settled(page);
        assert.equal(hash(page),
                     `#view=sites&phase=${encodeURIComponent(key)}&top=full`);
        assert.ok(Math.abs(await blocks() / all - part / 16) < 0.01, key);
    };
    await press(/^phase load,/, "load", 2);
    await press(/^phase work#1,/, "work#1", 4);
    await press(/^phase work#2,/, "work#2", 9);
    assert.equal(await page.locator(".marks [aria-pressed=true]").count(), 1);
    await page.getByRole("button", { name: "Filter…" }).click();
    await page.getByLabel("Phase", { exact: true }).selectOption("work");
    await settled(page);
    assert.ok(Math.abs(await blocks() / all - 13 / 16) < 0.01, "both");
    await page.getByLabel("Phase", { exact: true }).selectOption("");
    await settled(page);
    assert.equal(await blocks(), all);
    await page.evaluate(axeSource());
    assert.deepEqual(await faults(page), []);
    assert.deepEqual(complaints, []);
    await done();
    await s.stop();
});

test("every field of the filter", async () => {
    const { page, done } = await at("#view=sites");
    await page.getByRole("button", { name: "Filter…" }).click();
    const fill = async (label, text) => {
        const field = page.getByLabel(label, { exact: true });
        await field.fill(text);
        await field.press("Tab");
        await settled(page);
    };
    const expect = async (what, part) => {
        assert.equal(hash(page), "#view=sites" + (part && "&" + part), what);
        await page.getByRole("button", { name: /^(Remove|Clear all)/ }).last()
            .click();
        await settled(page);
        assert.equal(hash(page), "#view=sites");
    };
    await fill("Allocated in, from", "100 ms");
    await fill("Allocated in, to", "0.5s");
    await expect("allocated in", "alloc=100000..500000");
    await fill("Size, from", "64");
    await fill("Size, to", "1.5 KiB");
    await expect("size", "size=64..1536");
    await fill("Lifetime, to", "10ms");
    await expect("lifetime", "life=..10000");
    await page.getByLabel("Live at").selectOption("the end");
    await expect("live", "live=end");
    await page.getByLabel("Live at").selectOption("at a time");
    await fill("Live at, at", "0.25");
    await expect("live at", "live=250000");
    await page.getByLabel("Freed in").selectOption("never");
    await expect("freed", "freed=never");
    await page.getByLabel("Freed in").selectOption("in a range");
    await fill("Freed in, from", "0.1s");
    await expect("freed", "freed=100000..");
    await page.getByLabel("minor", { exact: true }).uncheck();
    await expect("heap", "heap=major,malloc");
    await fill("Inside function", "Typ");
    await expect("inside", "in=Typ");
    await fill("Not inside", "=Main.main");
    await expect("not inside", "notin==Main.main");
    await fill("Inside file", "~ml");
    await expect("inside file", "infile=~ml");
    await fill("Not inside module", "lib");
    await expect("not inside module", "notinmodule=lib");
    await fill("Hide frames", "Stdlib");
    await expect("hide", "hide=Stdlib");
    await fill("Fold frames", "module:lib");
    await expect("fold", "fold=module:lib");

    await fill("Size, from", "much");
    await page.getByText("write a size, as 64").waitFor();
    assert.equal(hash(page), "#view=sites");
    await done();
});

test("a link shows the same again, and back goes back", async () => {
    const first = await at("#view=sites&live=peak&size=..4096&in=Typ&by=blocks");
    const { page } = first;
    const shown = await page.locator("main").innerText();
    const again = await at(hash(page));
    assert.equal(await again.page.locator("main").innerText(), shown);
    await again.done();

    await press(page, "Leaks");
    await page.keyboard.press("3");
    await settled(page);
    const last = hash(page);
    await page.goBack();
    await page.goBack();
    await settled(page);
    assert.equal(await page.locator("main").innerText(), shown);
    await page.goForward();
    await page.goForward();
    assert.equal(hash(page), last);
    await first.done();
});

test("what the filter cannot be is said", async () => {
    const { page, complaints, done } = await at("#view=sites&size=9..3");
    const said = await page.locator(".error").first().innerText();
    assert.match(said, /size/);
    complaints.length = 0; /* the browser tells of the status, too */
    await done();
});

/* ---- pictures and tables ---------------------------------------------- */

test("all views of one filter have one total", async () => {
    const filter = "&alloc=100000..600000&size=..64";
    let wanted;
    for (const view of ["flame", "sites", "tree", "functions", "hot", "heat",
                        "samples"]) {
        const { page, done } = await at(`#view=${view}${filter}`);
        wanted ??= await shownTotal(page);
        assert.equal(await shownTotal(page), wanted, view);
        await done();
    }
    assert.ok(wanted > 0);
});

const middleOf = async (page, row) => {
    const box = await page.locator(".flame").boundingBox();
    return { x: box.x + box.width / 4, y: box.y + row * 20 + 10 };
};

const crumbs = (page) => page.locator(".crumbs li").allInnerTexts();

test("the flame graph: hover, focus in both directions, back", async () => {
    const { page, done } = await at("#view=flame");
    let spot = await middleOf(page, 3);
    await page.mouse.move(spot.x, spot.y);
    await page.locator(".tip").waitFor();
    const tip = (await page.locator(".tip div").allInnerTexts());
    assert.match(tip.join("\n"), /±[^]*% of all[^]*sampled/);
    await page.mouse.click(spot.x, spot.y);
    await settled(page);
    const path = await crumbs(page);
    assert.equal(path.length, 3);
    assert.equal(path[2], tip[0]);

    /* Callees: below the fragment. */
    spot = await middleOf(page, 4);
    await page.mouse.click(spot.x, spot.y);
    await settled(page);
    assert.equal((await crumbs(page)).length, 5);

    /* Let go of the outermost until the picture has callers, then take one
     * of them in. */
    await page.keyboard.press("[");
    await page.keyboard.press("[");
    await settled(page);
    const fewer = await crumbs(page);
    assert.equal(fewer.length, 3);
    spot = await middleOf(page, 1);
    await page.mouse.click(spot.x, spot.y);
    await settled(page);
    const longer = await crumbs(page);
    assert.deepEqual(longer.slice(-3), fewer);
    assert.ok(longer.length > 3, longer.join());

    await page.keyboard.press("Backspace");
    await settled(page);
    assert.deepEqual(await crumbs(page), fewer);
    await page.getByRole("button", { name: "All", exact: true }).last().click();
    await settled(page);
    assert.equal(await page.locator(".crumbs").count(), 0);
    await done();
});

/* Own code, a header of the system with two frames, and recursion. */
const pictured = () => {
    const header = "/usr/include/lib/algorithm.h";
    const main = { name: "main" };
    const walk = { name: "walk" };
    const t = new TraceFile();
    t.alloc(1000, [main, { name: "sort", file: header },
                   { name: "swap", file: header }, { name: "compare" }]);
    t.alloc(3000, [main, walk, { name: "turn" }, walk, { name: "leaf" }]);
    return write("pictured.ctf", t.bytes());
};

const boxes = (page) => page.locator(".node .code")
    .allTextContents().then((list) => list.map((text) => text.trim()));
const calls = (page) => page.locator(".call title").allTextContents()
    .then((list) => list.map((text) => text.split("\n")[0]));

test("the graph: calls, focus by pointer and keys, zoom", async () => {
    const s = await serve(pictured());
    const { page, done } = await open(`${s.url}#view=graph`);
    await settled(page);
    assert.deepEqual((await boxes(page)).sort(),
        ["compare", "leaf", "main", "sort", "swap", "turn", "walk"]);
    assert.deepEqual((await calls(page)).sort(),
        ["main → sort", "main → walk", "sort → swap", "swap → compare",
         "turn → leaf", "walk → turn"]);
    const answer = await page.evaluate(() => fetch("api/graph")
        .then((r) => r.json()));
    near(await shownTotal(page), answer.total.bytes, "total");
    /* Callers stand above. */
    const top = async (name) => (await page.locator(".node",
        { hasText: new RegExp(`^${name}`) }).boundingBox()).y;
    for (const [above, below] of [["main", "walk"], ["walk", "turn"],
                                  ["swap", "compare"]])
        assert.ok(await top(above) < await top(below), above + below);

    await page.locator(".node", { hasText: "sort" }).click();
    await settled(page);
    assert.deepEqual((await boxes(page)).sort(),
        ["compare", "main", "sort", "swap"]);
    assert.deepEqual(await crumbs(page), ["sort"]);
    near(await shownTotal(page), answer.nodes.find((n) =>
        answer.functions[n[0]].name === "sort")[2], "in focus");
    await page.keyboard.press("g");
    await page.keyboard.press("Escape");
    await settled(page);
    assert.equal((await boxes(page)).length, 7);

    await page.keyboard.press("g");
    await page.keyboard.press("ArrowDown");
    const here = page.locator(".node:focus title");
    assert.match(await here.textContent(), /^(sort|walk)\n/);
    const width = async () => (await page.locator(".graph svg")
        .boundingBox()).width;
    const fit = await width();
    await page.keyboard.press("+");
    assert.ok(await width() > 1.2 * fit);
    await page.keyboard.press("0");
    assert.equal(await width(), fit);
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(hash(page), /^#view=graph&focus=\d+$/);
    await done();
    await s.stop();
});

test("the graph's calls are a table, too: sorted, focused, copied", async () => {
    const s = await serve(pictured());
    const { page, done } = await open(`${s.url}#view=graph`,
        clipboard);
    await settled(page);
    const { nodes, edges, functions, total } = await page.evaluate(() =>
        fetch("api/graph").then((r) => r.json()));
    await press(page, "Table of calls");
    assert.equal(hash(page), "#view=graph&as=calls");
    near(await shownTotal(page), total.bytes, "total");
    const name = (i) => functions[nodes[i][0]].name;
    const shown = () => page.locator("tbody tr").evaluateAll((rows) =>
        rows.map((r) => [...r.querySelectorAll(".code")]
            .map((c) => c.textContent).join(" → ")));
    const wanted = [...edges].sort((a, b) => b[2] - a[2]);
    assert.deepEqual((await shown()).sort(),
        wanted.map(([a, b]) => `${name(a)} → ${name(b)}`).sort());
    const figures = (i) => page.locator("tbody tr").nth(i).locator("td[data-v]")
        .evaluateAll((cells) => cells.map((c) => Number(c.dataset.v)));
    const [a, b, value] = wanted[0];
    assert.deepEqual(await figures(0), [value, value / total.bytes,
        value / nodes[a][2], value / nodes[b][2]]);
    await page.getByRole("button", { name: "Callee",
        exact: true }).click();
    assert.deepEqual((await shown()).map((row) => row.split(" → ")[1]),
        wanted.map((e) => name(e[1])).sort());
    await page.keyboard.press("Y");
    await page.locator(".copied:not(:empty)").waitFor();
    const lines = (await page.evaluate(() => navigator.clipboard.readText()))
        .trim().split("\n");
    assert.equal(lines.length, 1 + edges.length);
    await page.locator("tbody tr").first().press("Enter");
    await settled(page);
    assert.match(hash(page), /^#view=\w+&.*focus=\d+,\d+/);
    await done();
    await s.stop();
});

test("deep calls leave the figures of a tree in sight", async () => {
    const t = new TraceFile();
    t.alloc(1000, Array.from({ length: 120 }, (_, i) => ({ name: `call_${i}` })));
    const s = await serve(write("deep.ctf", t.bytes()));
    for (const width of [1280, 800]) {
        const { page, done } = await open(`${s.url}#view=tree`,
                                          { viewport: { width, height: 800 } });
        await settled(page);
        assert.equal(await page.locator("tbody tr[aria-level]").count(), 120);
        const [inner, outer] = await page.getByRole("region", { name: "Tree of " +
            "calls" }).evaluate((e) => [e.scrollWidth, e.clientWidth]);
        assert.ok(inner <= outer, `${width}: ${inner} of ${outer}`);
        await done();
    }
    await s.stop();
});

test("sites say who calls them; copies, too", async () => {
    const s = await serve(pictured());
    const { page, done } = await open(`${s.url}#view=sites`,
        clipboard);
    await settled(page);
    const row = page.locator("tbody tr", { hasText: "compare" });
    assert.equal(await row.locator(".callers").innerText(), "← swap ← sort");
    assert.equal(await page.locator("tbody tr", { hasText: "leaf" })
        .locator(".callers").innerText(), "← turn ← walk");
    await row.click();
    await page.keyboard.press("y");
    await page.locator(".copied:not(:empty)").waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()),
                 /^compare\tmade\.c[^\t]* ← swap ← sort\t/);
    await done();
    await s.stop();
});

test("sites below an interpreter say which script's function it is", async () => {
    const t = new TraceFile();
    t.alloc(1000, [{ name: "main" }, { name: "remember", file: "web.py" },
                   { name: "evaluate" }, { name: "multiply" },
                   { name: "repeat" }, { name: "new_text" }]);
    const s = await serve(write("script.ctf", t.bytes()));
    const { page, done } = await open(`${s.url}#view=sites`);
    await settled(page);
    assert.equal(await page.locator(".callers").innerText(),
                 "← repeat ← remember");
    await done();
    await s.stop();
});

test("how stacks are drawn: recursion, libraries, rules, own code", async () => {
    const s = await serve(pictured());
    const { page, done } = await open(`${s.url}#view=graph`);
    await settled(page);
    const total_ = await shownTotal(page);
    await press(page, "Recursion");
    assert.equal(hash(page), "#view=graph&recursion=keep");
    assert.ok((await calls(page)).includes("turn → walk"));
    await press(page, "Recursion");

    await press(page, "Fold libraries");
    assert.equal(hash(page), "#view=graph&fold=library:");
    assert.deepEqual((await boxes(page)).sort(),
        ["[/usr/include/lib]", "compare", "leaf", "main", "turn", "walk"]);
    near(await shownTotal(page), total_, "total");
    assert.equal(await page.locator(".chips").innerText(),
                 "fold libraries\n×");
    await page.locator(".node", { hasText: "include" }).click();
    await settled(page);
    assert.deepEqual(await crumbs(page), ["[/usr/include/lib]"]);
    assert.deepEqual(await page.locator(".picked-bar kbd").allInnerTexts(),
                     ["f", "i", "x", "c"]);
    await page.keyboard.press("i");
    await settled(page);
    assert.match(hash(page), /infile=\/usr\/include\/lib\//);
    near(await shownTotal(page), await page.evaluate(() =>
        fetch("api/tree?in==compare").then((r) => r.json())
            .then((a) => a.total.bytes)), "inside the directory");

    await page.goto(`${s.url}#view=tree`);
    await settled(page);
    await press(page, "Rules…");
    const field = page.getByLabel("Fold frames", { exact: true });
    await field.fill("file:~^/usr");
    await field.press("Tab");
    await settled(page);
    assert.equal(hash(page), "#view=tree&fold=file:~%5E/usr");
    await press(page, "Own code");
    await page.keyboard.press("Tab");
    const rows = page.locator("tbody tr:not(.rest)");
    await rows.first().focus();
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowRight");
    const kinds = await rows.evaluateAll((list) => list.map((row) =>
        [row.querySelector(".code").textContent,
         row.querySelector("i").className]));
    assert.ok(kinds.some(([n, k]) => n === "main" && k === "own"));
    assert.ok(kinds.every(([n, k]) => (k === "lib") === n.startsWith("[")));

    await page.goto(`${s.url}#view=graph&colour=own`);
    await settled(page);
    assert.deepEqual([await page.locator(".node.own").count(),
                      await page.locator(".node.lib").count()], [5, 2]);
    await done();
    await s.stop();
});

test("callers and callees have all their columns in sight", async () => {
    const sides = ".butterfly .wide";
    const { page, done } = await at("#view=functions");
    const ids = await page.evaluate(() => fetch("api/functions")
        .then((r) => r.json()).then((a) => a.rows.slice(0, 60)
            .filter((_, i) => i % 6 === 0).map((r) => r.id)));
    for (const by of ["bytes", "blocks"]) {
        for (const id of ids) {
            await page.evaluate((h) => { location.hash = h; },
                                `#view=functions&fn=${id}&by=${by}`);
            await settled(page);
            for (const width of [1601, 1280, 1201, 1200, 901]) {
                await page.setViewportSize({ width, height: 800 });
                const hidden = await page.locator(sides).evaluateAll((list) =>
                    list.map((e) => e.scrollWidth - e.clientWidth));
                assert.ok(hidden.length > 0 && hidden.every((x) => x <= 0),
                          `${id} ${by} ${width}: ${hidden}`);
            }
        }
    }
    await done();
});

/* What a canvas is told to write from now on. */
const canvasTexts = async (page) => {
    await page.evaluate(() => {
        const of = CanvasRenderingContext2D.prototype;
        const { fillText } = of;
        globalThis.texts = [];
        of.fillText = function (text, ...rest) {
            globalThis.texts.push(text);
            return fillText.call(this, text, ...rest);
        };
    });
    return () => page.evaluate(() => globalThis.texts);
};

test("figures say what they count", async () => {
    const { page, done } = await at("#view=flame");
    const texts = await canvasTexts(page);
    for (const [button, unit] of [["Blocks", " blocks"], ["Samples", " samples"],
                                  ["Bytes", " [KMG]iB"]]) {
        await press(page, button);
        assert.ok((await texts()).some((t) =>
            new RegExp(`^all: [0-9.]+[kM]?${unit}$`).test(t)), unit);
        const spot = await middleOf(page, 2);
        await page.mouse.move(spot.x, spot.y);
        const tip = await page.locator(".tip div").allInnerTexts();
        assert.match(tip[2], new RegExp(`${unit}$`), "hover");
        await page.mouse.move(5, 5);
    }
    await page.keyboard.press("7");
    await settled(page);
    const cells = page.locator(".heat button:not(.sum)");
    const filled = await page.locator(".heat button:not(.sum):enabled").count();
    assert.ok(filled > 0);
    const said = await page.locator(".over").innerText();
    assert.ok(said.includes(`${filled} of ${await cells.count()} cells`), said);
    await done();
});

test("sizes and lifetimes by themselves: sums of the cells, and filters", async () => {
    const { page, done } = await at("#view=heat");
    const { sizes, lives, cells, total } = await page.evaluate(() =>
        fetch("api/heat").then((r) => r.json()));
    const sums = page.locator(".heat .sum");
    assert.equal(await sums.count(), sizes.length + lives.length - 1);
    const whole = cells.reduce((n, c) => n + c[0], 0);
    near(whole, total.bytes, "all cells");
    const said = await page.locator(".over b").first().innerText();
    assert.match(await sums.last().getAttribute("title"),
                 new RegExp(`^All sizes, all lifetimes: ${said}, `));
    /* The last row of sizes that is drawn is the smallest size. */
    const columns = lives.length - 1;
    const first = sizes.findIndex((_, i) => cells.slice(i * columns,
        (i + 1) * columns).some((c) => c[0] > 0));
    const row = cells.slice(first * columns, (first + 1) * columns);
    await page.locator(".heat tbody tr").nth(sizes.length - 2 - first)
        .locator(".sum").click();
    await settled(page);
    assert.match(hash(page), /&size=\d+\.\.\d*$/);
    near(await shownTotal(page), row.reduce((n, c) => n + c[0], 0), "a size");
    await done();
});

test("no word tells of colours that one theme alone has", async () => {
    for (const view of VIEWS) {
        const { page, done } = await at(`#view=${view}`);
        assert.doesNotMatch(await page.locator("body").innerText(),
                            /\b(darke|lighte|bright|pale)/i, view);
        await done();
    }
});

test("search marks boxes, and says how much they are", async () => {
    const { page, done } = await at("#view=flame&live=peak");
    await page.keyboard.press("/");
    await page.keyboard.type("Typecore");
    await page.locator(".found", { hasText: "Typecore" }).waitFor();
    await settled(page);
    const found = await page.locator(".found").innerText();
    assert.match(found, /^Typecore .*matched, [0-9.]+%/);
    await page.keyboard.press("Enter");
    await page.keyboard.press("2");
    await settled(page);
    const rows = await page.locator("tbody tr").allInnerTexts();
    assert.ok(rows.length > 0);
    assert.ok(rows.every((r) => r.includes("Typecore")), rows.join("\n"));
    await done();
});

const search = async (page, text) => {
    await page.locator("#search").fill(text);
    await page.waitForFunction((q) => new URLSearchParams(
        location.hash.slice(1)).get("q") === (q || null), text);
    await settled(page);
    return page.locator("main tbody tr").allInnerTexts();
};

test("a search ignores case unless a capital is typed", async () => {
    const t = new TraceFile();
    const put = (name, file) => t.alloc(100, [{ name: "main" },
                                              { name, file }]);
    put("Parse.token", "src/Parse.ml");
    put("reparse", "src/lex.ml");
    put("PARSE_ALL", "src/all.c");
    put("file::parse", "src/open.cc");
    const s = await serve(write("case.ctf", t.bytes()));
    const { page, complaints, done } = await open(`${s.url}#view=sites`);
    await settled(page);
    const finds = {
        parse: ["Parse.token", "reparse", "PARSE_ALL", "file::parse"],
        Parse: ["Parse.token"],
        "=reparse": ["reparse"], "=Reparse": [],
        "~^(re)?parse": ["Parse.token", "reparse", "PARSE_ALL"],
        "~^P[a-z]+[.]": ["Parse.token"],
        "~^[[:upper:]_]+$": ["PARSE_ALL"],
        "file:.ml": ["Parse.token", "reparse"],
        "file:~^src/[a-z]*[.]c+$": ["PARSE_ALL", "file::parse"],
        "file:Parse": ["Parse.token"],
        "file::": ["file::parse"],
        "function:~^[^:]+$": ["Parse.token", "reparse", "PARSE_ALL"],
        "lex.ml": ["reparse"],
        "module:made.c": [],
    };
    for (const view of ["sites", "functions", "diff"]) {
        await page.keyboard.press("Escape");
        await page.evaluate((h) => { location.hash = h; }, `#view=${view}` +
            (view === "diff" ? "&b.t=0&b.alloc=1.." : ""));
        await settled(page);
        for (const [text, names] of Object.entries(finds)) {
            const rows = await search(page, text);
            assert.deepEqual(rows.map((r) => r.split(/\s/)[0])
                .filter((name) => name !== "main").sort(),
                             [...names].sort(), `${view}: ${text}`);
        }
    }
    assert.deepEqual(await search(page, "file:"), await search(page, ""));
    /* Names say where, as far as they are shown. */
    await search(page, "~^p[a-z]+");
    assert.deepEqual(await page.locator("main mark").allInnerTexts(),
                     ["Parse", "PARSE"]);
    await page.locator("#search").fill("~(");
    assert.match(await page.locator(".error").innerText(), /^q: /);
    complaints.length = 0; /* the browser tells of the status, too */
    await done();
    await s.stop();
});

test("page, report and exported page agree on what a filter's text means",
     async () => {
    const page_ = write("page.html", "");
    aliquot("export", "--format=html", "-f", "-o", page_, trace);
    const engine = await carriedEngine(page_);
    const total = async (filter) => JSON.parse(await (await fetch(
        `${server.url}api/sites?${filter}`)).text()).total.bytes;
    const sums = new Set();
    for (const word of ["typecore", "Typecore", "TYPECORE", "~^typecore[.]",
                        "~^(typ|Env)", "~[[:upper:]]x", "=Typecore.type_let"]) {
        const filter = `in=${encodeURIComponent(word)}`;
        const bytes = await total(filter);
        sums.add(bytes);
        assert.equal(report("--filter", filter, trace).allocated_bytes, bytes,
                     word);
        assert.equal(engine("sites", filter).total.bytes, bytes, word);
        const q = `q=${encodeURIComponent(word)}`;
        assert.deepEqual(engine("sites", q), await (await fetch(
            `${server.url}api/sites?${q}`)).json());
    }
    for (const q of ["stack=function", "draw=blocks&stack=thread&size=..99",
                     "draw=temporary&stack=module&live=peak"])
        assert.deepEqual(engine("timeline", q), await (await fetch(
            `${server.url}api/timeline?${q}`)).json());
    assert.equal(await total("in=typecore"), await total("in=Typecore"));
    assert.equal(await total("in=TYPECORE"), 0);
    assert.ok(sums.size > 3);
});

test("pictures mark what tables find", async () => {
    for (const [q, least] of [["typecore", 1], ["~^typ.*[.]type_", 1],
                              ["file:typecore", 1], ["TYPECORE", 0]]) {
        const { page, done } = await at(`#view=flame&q=${q}`);
        const shown = await page.locator(".found").innerText();
        const key = q.startsWith("file:") ? "infile" : "in";
        const bytes = await page.evaluate((f) => fetch(`api/tree?depth=1&${f}`)
            .then((r) => r.json()).then((a) => a.focus.bytes),
            `${key}=${encodeURIComponent(q.replace("file:", ""))}`);
        assert.equal(bytes > 0, least > 0, q);
        assert.match(shown, bytes > 0 ? / [0-9.]+ [KM]iB .*matched/
            : / 0 B matched/);
        await done();
    }
});

/* ---- orders ----------------------------------------------------------- */

/* What the column of a head has, down the first table; of errors those that are
 * no range. */
const columnOf = (page, head) => head.evaluate((th) => {
    const at = th.cellIndex;
    return [...th.closest("table").tBodies[0].rows]
        .filter((r) => r.cells.length > at && !r.matches(".rest"))
        .map((r) => r.cells[at]).map((c) => c.dataset.v ??
            c.querySelector(".code")?.title ?? "")
        .filter((v) => !v.includes("..") || Number.isNaN(Number(v[0])));
});

test("every column of a table sorts it, both ways", async () => {
    const id = (await (await fetch(`${server.url}api/functions`)).json())
        .rows[40].id;
    for (const [view, more] of [["sites", ""], ["functions", ""], ["hot", ""],
                                ["samples", ""], ["diff", "&b.t=0&b.live=end"],
                                ["tree", "&dir=up"], ["functions", `&fn=${id}`],
                                ["sites", "&by=blocks&group=line"]]) {
        const { page, done } = await at(`#view=${view}&live=peak${more}`);
        const heads = page.locator("main table").first().locator("th .sort");
        const n = await heads.count();
        assert.ok(n >= 4, `${view}: ${n}`);
        for (let i = 0; i < n; i++) {
            const said = [];
            for (let turn = 0; turn < 2; turn++) {
                await heads.nth(i).click();
                await settled(page);
                const head = heads.nth(i).locator("..");
                const way = await head.getAttribute("aria-sort");
                const label = await head.innerText();
                said.push(way);
                const what = `${view} ${more} ${label} ${way}`;
                assert.ok(["ascending", "descending"].includes(way), what);
                if (["Heap", "Thread", "Change", "Sampled A, B",
                     "Promoted after"].includes(label)) continue;
                const list = await columnOf(page, head);
                const isText = list.some((v) => v !== "" &&
                    Number.isNaN(Number(v)));
                if (isText) continue; /* names that are not cut have no title */
                const sign = way === "ascending" ? 1 : -1;
                const numbers = list.map(Number);
                assert.ok(numbers.every((y, k) => k === 0 ||
                    sign * (y - numbers[k - 1]) >= 0), `${what}: ${list}`);
            }
            assert.notEqual(said[0], said[1], `${view} ${i}`);
        }
        await done();
    }
});

test("names sort as they stand, and an order is in the link", async () => {
    for (const [view, first] of [["sites", "sort=name"], ["samples", "order=name"],
                                 ["functions", "sort=name"]]) {
        const names = async (filter) => {
            const { page, done } = await at(`#view=${view}&live=peak&${filter}`);
            const list = await page.locator("main tbody .code")
                .evaluateAll((l) => l.map((e) => e.title || e.textContent));
            await done();
            return list;
        };
        const up = await names(first);
        assert.ok(up.length > 20);
        assert.deepEqual(up, [...up].sort(), view);
        const down = await names(first.replace("=", "=-"));
        assert.deepEqual(down, [...down].sort().reverse(), view);
    }
});

/* ---- copies ----------------------------------------------------------- */

const clipboard = { permissions: ["clipboard-read", "clipboard-write"] };
const pasted = (page) => page.evaluate(() => navigator.clipboard.readText());

test("a table is copied as values, and so is a row", async () => {
    const { page, done } = await at("#view=sites&live=peak", clipboard);
    const answer = await page.evaluate(() => fetch("api/sites?live=peak")
        .then((r) => r.json()));
    await page.getByRole("button", { name: "Copy table" }).click();
    await page.getByText(/^Copied: table of/).waitFor();
    const lines = (await pasted(page)).slice(0, -1).split("\n")
        .map((l) => l.split("\t"));
    assert.deepEqual(lines[0].slice(0, 5),
                     ["Site", "Place", "Bytes", "±", "Share"]);
    assert.ok(lines.every((l) => l.length === lines[0].length));
    assert.equal(lines.length, answer.rows.length + 2);
    const of = (line, name) => line[lines[0].indexOf(name)];
    for (const [i, row] of answer.rows.entries()) {
        const fn = answer.functions[row.function];
        const line = lines[i + 1];
        assert.equal(line[0], fn.name);
        const callers = row.callers.map((c) => " ← " + (answer.functions[c]
            .short ?? answer.functions[c].name));
        assert.equal(line[1], (fn.file || fn.module).replace(/.*\//, "") +
            callers.join(""));
        assert.equal(Number(of(line, "Bytes")), row.sum.bytes);
        assert.equal(of(line, "±"), row.sum.bytes_few
            ? row.sum.bytes_range.join("..") : String(row.sum.bytes_se));
        near(Number(of(line, "Share")) * answer.total.bytes, row.sum.bytes);
        assert.equal(Number(of(line, "Blocks")), row.sum.blocks);
        assert.equal(Number(of(line, "Sampled")), row.sum.n);
        assert.equal(Number(of(line, "Mean lifetime")), row.life_us);
    }
    assert.equal(lines.at(-1)[0], "Total");
    assert.equal(Number(of(lines.at(-1), "Bytes")), answer.total.bytes);

    await page.keyboard.press("g");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("y");
    await page.getByText("Copied: row").waitFor();
    assert.equal(await pasted(page), lines[2].join("\t"));
    for (const view of ["tree", "functions", "hot", "samples", "diff"]) {
        await page.evaluate((h) => { location.hash = h; }, `#view=${view}`);
        await settled(page);
        await page.locator("main table").waitFor();
        await page.keyboard.press("Y");
        await page.getByText(/^Copied: table of/).waitFor();
        const n = (await pasted(page)).slice(0, -1).split("\n");
        assert.equal(n.length, await page.locator("main tr").count(), view);
        assert.equal(new Set(n.map((l) => l.split("\t").length)).size, 1, view);
        /* The next one is said anew. */
        await page.getByText(/^Copied: /).waitFor({ state: "hidden" });
    }
    await done();
});

test("a stack is copied as text, innermost first", async () => {
    const t = new TraceFile();
    const deep = Array.from({ length: 100 }, (_, i) =>
        ({ name: `call_${i}`, file: `/src/f${i}.c`, line: i + 1 }));
    for (let i = 0; i < 20; i++) t.alloc(1000, deep);
    const s = await serve(write("copied.ctf", t.bytes()));
    const text = (withLine) => deep.map((f) => `${f.name} (${f.file.slice(5)}` +
        `${withLine ? `:${f.line}` : ""})\n`).reverse().join("");
    for (const [view, keys] of [["samples", ["g", "ArrowDown"]],
                                ["tree", ["g", "End"]],
                                ["flame", ["g", ...Array(101).fill("j")]]]) {
        const { page, done } = await open(`${s.url}#view=${view}`, clipboard);
        await settled(page);
        for (const key of keys) await page.keyboard.press(key);
        await page.keyboard.press("s");
        await page.getByText("Copied: stack").waitFor();
        assert.equal(await pasted(page), text(view === "samples"), view);
        await done();
    }
    await s.stop();
});

/* ---- by keys alone ---------------------------------------------------- */

test("the page by keys alone", async () => {
    const { page, done } = await at("");
    const keys = async (...list) => {
        for (const key of list) await page.keyboard.press(key);
        await settled(page);
    };
    const active = () => page.evaluate(() => document.activeElement?.id ||
        document.activeElement?.className || document.activeElement?.tagName);

    await keys("Tab");
    assert.equal(await active(), "skip");
    await keys("Enter");
    assert.equal(await active(), "main");

    await keys("?");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog:not([open])").waitFor({ state: "attached" });

    await keys("t", "ArrowRight", "PageDown", "Shift+PageDown",
               "Shift+ArrowRight", "Enter");
    assert.match(hash(page), /alloc=\d+\.\.\d+&live=peak/);
    await keys("p", "p"); /* leaks, temporary */
    assert.match(hash(page), /#view=flame&live=end|#view=flame&freed=/);

    await keys("g");
    assert.equal(await active(), "flame");
    await keys("ArrowRight", "ArrowDown", "j", "ArrowDown", "Enter");
    assert.ok((await crumbs(page)).length >= 1);
    await keys("Escape");
    assert.deepEqual(await crumbs(page), []);

    await keys("3");
    await keys("g", "ArrowDown", "ArrowDown", "ArrowRight");
    assert.equal(await page.locator("tr:focus").count(), 1);
    const name = await page.locator("tr:focus .code").innerText();
    await page.locator(".picked-bar").waitFor();
    assert.equal(await page.locator(".picked-bar .code").innerText(), name);
    const before = await page.locator("tbody tr").count();
    await keys("ArrowLeft", "ArrowLeft", "ArrowLeft");
    assert.ok(await page.locator("tbody tr").count() < before);

    await keys("i");
    assert.match(hash(page), /[&]in==/);
    await keys("e");
    await page.locator(".form").waitFor();
    for (const [i, view] of VIEWS.entries()) {
        await page.keyboard.press(String((i + 1) % 10));
        await settled(page);
        assert.match(hash(page), new RegExp(`view=${view}`));
    }
    await done();
});

/* ---- how it looks ----------------------------------------------------- */

/* In a page as large as wide screens have it, and in the long form in a small
 * one; colours, which are all that a theme changes, by day and by night. */
test("no view has a fault that axe finds", async () => {
    for (const view of [...VIEWS, "graph&as=calls", "diff&b.t=1&as=graph",
                        "diff&b.t=1&as=time&stack=function"])
        for (const [width, height] of [[1280, 900],
                                       ...(LONG ? [[800, 600]] : [])]) {
            const { page, done } = await at(`#view=${view}&live=peak`,
                { colorScheme: "light", viewport: { width, height } });
            const where = `${view}, ${height} high`;
            await page.keyboard.press("e");
            await page.evaluate(axeSource());
            assert.deepEqual(await faults(page), [], where);
            await page.emulateMedia({ colorScheme: "dark" });
            await settled(page);
            assert.deepEqual(await faults(page, true), [], `${where}, dark`);
            await done();
        }
});

test("by day and by night: as the system says, or as one chooses", async () => {
    const { page, done } = await at("", { colorScheme: "dark" });
    const becomes = (colour) => page.waitForFunction((wanted) =>
        getComputedStyle(document.body).backgroundColor === wanted, colour);
    const night = await page.evaluate(() =>
        getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: "light" });
    const day = "rgb(246, 247, 248)";
    assert.notEqual(night, day);
    await becomes(day);
    for (const [name, colour] of [["as the system", day], ["light", night]]) {
        await page.getByRole("button", { name: `Theme: ${name}` }).click();
        await becomes(colour);
    }
    await page.reload();
    await settled(page);
    await becomes(night);
    await done();
});

/* What the time line's canvas shows. */
const CANVAS = ".timeline canvas";
const painted = (page) => page.evaluate((canvas) =>
    document.querySelector(canvas).toDataURL(), CANVAS);

test("the time line is drawn anew in the colours of the theme", async () => {
    const fresh = {};
    for (const colorScheme of ["light", "dark"]) {
        const { page, done } = await at("", { colorScheme });
        fresh[colorScheme] = await painted(page);
        await done();
    }
    assert.notEqual(fresh.light, fresh.dark);
    const { page, done } = await at("", { colorScheme: "dark" });
    const becomes = (theme) => page.waitForFunction(([canvas, wanted]) =>
        document.querySelector(canvas).toDataURL() === wanted,
        [CANVAS, fresh[theme]]);
    await page.emulateMedia({ colorScheme: "light" });
    await becomes("light");
    await page.emulateMedia({ colorScheme: "dark" });
    await becomes("dark");
    for (const [name, theme] of [["as the system", "light"],
                                 ["light", "dark"]]) {
        await page.getByRole("button", { name: `Theme: ${name}` }).click();
        await becomes(theme);
    }
    await done();
});

test("the tab of the view is in sight on a phone", async () => {
    const viewport = { width: 360, height: 800 };
    const isInSight = (page) => page.waitForFunction(() => {
        const tab = document.querySelector(".tabs a[aria-current]")
            .getBoundingClientRect();
        return tab.left >= 0 && tab.right <= innerWidth;
    });
    const { page, done } = await at("#view=trace", { viewport });
    await isInSight(page);
    for (const key of ["1", "9", "5"]) {
        await page.keyboard.press(key);
        await settled(page);
        await isInSight(page);
    }
    await done();
});

const fits = (page, width) => page.waitForFunction((most) =>
    document.documentElement.scrollWidth <= most, width);

for (const [name, width] of [["narrow window", 1024], ["phone", 360]])
    test(`nothing sticks out of a ${name}`, async () => {
        for (const view of VIEWS) {
            const { page, done } = await at(`#view=${view}&live=peak`,
                { viewport: { width, height: 800 } });
            await settled(page);
            await fits(page, width);
            await done();
        }
    });

/* ---- room for the answer ---------------------------------------------- */

const TABLES = ["sites", "tree", "functions", "samples"];

/* Rows of the view's table that are in sight, whole. */
const rowsInSight = (page) => page.evaluate(() => {
    const table = document.querySelector("main table");
    const place = table.closest(".wide").getBoundingClientRect();
    const foot = table.querySelector("tfoot .whole");
    const top = table.tHead.rows[0].cells[0].getBoundingClientRect().bottom;
    const bottom = Math.min(innerHeight, place.bottom,
        foot ? foot.cells[0].getBoundingClientRect().top : innerHeight);
    return [...table.tBodies[0].rows].filter((row) => {
        const box = row.getBoundingClientRect();
        return box.top >= top - 1 && box.bottom <= bottom + 1;
    }).length;
});

for (const [width, height, least] of [[1280, 800, 16], [800, 600, 8]])
    test(`the answer has the first screen of ${width} x ${height}`, async () => {
        for (const view of [...TABLES, "diff&live=peak&b.t=0&b.live=end"]) {
            const { page, done } = await at(`#view=${view}`,
                                            { viewport: { width, height } });
            const n = await rowsInSight(page);
            const all = await page.locator("main tbody tr").count();
            assert.ok(n >= Math.min(least, all), `${view}: ${n} of ${all}`);
            assert.ok(await page.evaluate(() =>
                document.documentElement.scrollHeight <= innerHeight), view);
            const line = await page.locator("header").first()
                .boundingBox();
            assert.ok(line.height < 50, `${view}: top of ${line.height}`);
            await done();
        }
    });

test("heads and the total of a table stay in sight", async () => {
    for (const [width, height] of [[1280, 800], [800, 600], [360, 800]]) {
        const { page, done } = await at("#view=sites",
                                        { viewport: { width, height } });
        const where = () => page.evaluate(() => {
            const y = (what) => document.querySelector(what)
                .getBoundingClientRect();
            const place = y("main .wide");
            return [y("thead th").top - place.top,
                    place.bottom - y("tfoot .whole th").bottom];
        });
        const before = await where();
        await page.locator("main .wide").evaluate((e) => { e.scrollTop = 900; });
        assert.ok(await page.locator("main .wide").evaluate((e) =>
            e.scrollTop > 800), `${width}: scrolled`);
        const after_ = await where();
        for (const i of [0, 1])
            assert.ok(Math.abs(after_[i]) < 3 && Math.abs(before[i]) < 3,
                      `${width}: ${before} ${after_}`);
        await done();
    }
});

test("the top is one line with a spark line, and all of it on demand",
     async () => {
    const low = { viewport: { width: 1280, height: 800 } };
    const { page, done } = await at("#view=sites&live=peak", low);
    const active = () => page.evaluate(() => document.activeElement?.id);
    assert.equal(await page.locator("#timeline").count(), 0);
    const all = await page.locator(".spark path.all").getAttribute("d");
    assert.equal(all.match(/h1/g).length, await page.evaluate(() =>
        fetch("api/timeline").then((r) => r.json()).then((t) => t.all.length)));
    /* Each step of the part is at or below that of all. */
    const heights = async (what) => [...(await page.locator(`.spark path.${what}`)
        .getAttribute("d")).matchAll(/V([0-9.]+)h1/g)].map((m) => Number(m[1]));
    const [most, part] = [await heights("all"), await heights("part")];
    assert.equal(Math.min(...most), 0);
    assert.ok(part.every((y, i) => y >= most[i]));
    assert.match(await page.locator(".spark").innerText(), /42\.7 MiB/);

    await page.locator(".spark").click();
    await page.locator("#timeline").waitFor();
    assert.equal(hash(page), "#view=sites&live=peak&top=full");
    assert.equal(await active(), "timeline");
    await page.locator("#fold").click();
    await page.locator(".spark").waitFor();
    assert.equal(hash(page), "#view=sites&live=peak&top=line");
    assert.equal(await active(), "spark");
    await page.keyboard.press("t");
    await page.locator("#timeline").waitFor();
    assert.equal(await active(), "timeline");
    await page.goto(`${server.url}#view=sites&top=line`);
    await page.setViewportSize({ width: 1920, height: 1080 });
    await page.locator(".spark").waitFor();
    await done();

    /* What the line chooses is what the rest of the page chooses. */
    const line = await at("#view=sites&live=peak&in=Typ", low);
    await line.page.getByLabel("Preset").selectOption("Leaks");
    await line.page.getByLabel("Weigh by").selectOption("Blocks");
    await settled(line.page);
    assert.equal(hash(line.page), "#view=sites&live=end&in=Typ&by=blocks");
    assert.deepEqual(await line.page.locator(".chips bdi").allInnerTexts(),
                     ["inside …Typ…"]);
    await line.page.locator(".chips button").click();
    assert.equal(hash(line.page), "#view=sites&live=end&by=blocks");
    await line.done();
});

test("a name has one line of a table, and its end is in sight", async () => {
    const t = new TraceFile();
    const names = Array.from({ length: 30 }, (_, i) =>
        `very::long::name::${"of_a_space::".repeat(i)}ends_${100 + i}`);
    for (const name of names)
        t.alloc(100, [{ name: "main" }, { name }]);
    const s = await serve(write("names.ctf", t.bytes()));
    for (const [width, height] of [[1280, 800], [800, 800], [800, 600],
                                   [360, 800]])
        for (const view of TABLES) {
            const { page, done } = await open(`${s.url}#view=${view}`,
                { viewport: { width, height } });
            await settled(page);
            const wrong = await page.evaluate(() => [...document
                .querySelectorAll("tbody th")].filter((th) => {
                const code = th.querySelector(".code");
                const range = document.createRange();
                const last = document.createTreeWalker(code, 4);
                while (last.nextNode());
                range.selectNodeContents(last.currentNode);
                const end = range.getBoundingClientRect();
                return end.right > th.getBoundingClientRect().right ||
                    code.getBoundingClientRect().height > 26;
            }).map((th) => th.innerText));
            assert.deepEqual(wrong, [], `${view} ${width} ${height}`);
            await done();
        }
    await s.stop();
});

/* ---- leaks ------------------------------------------------------------ */

test("leaks say what grows steadily, as the report does", async () => {
    const t = new TraceFile({ rate: 1e-4 });
    const next = dice(11);
    const main = { name: "main" };
    for (let i = 0; i < 4000; i++) {
        t.at(i * 10_000);
        if (next() < 0.1) t.alloc(100, [main, { name: "leaks" }]);
        if (i < 400) t.alloc(100, [main, { name: "starts" }]);
        t.free(t.alloc(100, [main, { name: "goes" }]));
    }
    const path = write("grows.ctf", t.bytes());
    const said = /([\d.]+ [KM]iB\/min ± [\d.]+).* leaks/.exec(aliquot("report",
        "--leaks", path).toString());
    const s = await serve(path);
    const { page, done } = await open(`${s.url}#view=sites`);
    await settled(page);
    const grows = page.getByRole("region", { name: "Grows steadily" });
    assert.equal(await grows.count(), 0);
    await press(page, "Leaks");
    await grows.waitFor();
    const rows = grows.locator("tbody tr");
    assert.equal(await rows.count(), 1);
    assert.match(await rows.innerText(), /^leaks/);
    assert.ok((await rows.innerText()).includes(`grows ${said[1]}`), said[1]);
    await press(page, "Module");
    assert.equal(await grows.locator("tbody tr").count(), 1);
    await page.locator("#search").fill("starts");
    await page.getByText("Nothing grows steadily from 10.0 s on.").waitFor();
    await page.locator("#search").fill("");
    await grows.waitFor();
    await press(page, "Common stack");
    const groups = page.getByRole("region", { name: "Groups of call stacks" })
        .locator("tbody tr");
    const wanted = report("--leaks", path).leak_groups;
    assert.equal(await groups.count(), wanted.length);
    for (const [i, g] of wanted.entries()) {
        const text = await groups.nth(i).locator(".path").innerText();
        assert.equal(text.replaceAll(/\s+/g, " "),
                     g.frames.map((f) => f.function).reverse().join(" › "));
    }
    await page.evaluate(axeSource());
    assert.deepEqual(await faults(page), []);
    await done();
    await s.stop();
});

/* ---- one sample ------------------------------------------------------- */

const likes = [["main", "load", "parse", "malloc"],
               ["main", "save", "parse", "malloc"], ["main", "draw", "malloc"]];

test("a sample has its life, its stack, and who else allocates there", async () => {
    const t = new TraceFile({ word_bits: 8 });
    for (let i = 0; i < 300; i++) {
        const block = t.at(i * 1000).alloc(4000 + i, likes[i % 3].map((name, k) =>
            ({ name, file: `/src/${name}.c`, line: 10 * k + 1 })));
        if (i % 2) t.at(i * 1000 + 250).free(block);
    }
    const s = await serve(write("likes.ctf", t.bytes()));
    const { page, done } = await open(`${s.url}#view=samples`, clipboard);
    const total = async (keys) => (await (await fetch(
        `${s.url}api/heat?${keys}`)).json()).total;
    await settled(page);
    const names = page.locator("main tbody tr[tabindex] .code");
    assert.deepEqual([...new Set(await names.allInnerTexts())],
                     ["parse", "draw"]);

    await page.keyboard.press("g");
    await page.keyboard.press("ArrowDown");
    const detail = page.locator("tr.detail");
    await detail.locator(".beside").waitFor();
    const facts = await detail.locator("dl").innerText();
    for (const fact of [/Allocated\s+0\.001000 s/, /Freed\s+0\.001250 s/,
                        /Lived\s+250 µs/, /Size\s+3\.91 KiB \(4001 bytes\)/,
                        /Call\s+malloc/])
        assert.match(facts, fact);
    assert.deepEqual(await detail.locator("ol li").allInnerTexts(),
        ["malloc\nmalloc.c:31", "parse\nparse.c:21", "save\nsave.c:11",
         "main\nmain.c:1"]);
    assert.equal(await detail.locator("ol .last").innerText(),
                 "parse\nparse.c:21");
    await detail.getByRole("button", { name: "Copy stack" }).click();
    await page.getByText("Copied: stack").waitFor();
    assert.match(await pasted(page), /^malloc \(malloc\.c:31\)\nparse \(/);
    /* Links below the heads, which stay in sight, are no targets there. */
    await detail.evaluate((e) => e.scrollIntoView({ block: "center" }));
    await page.evaluate(axeSource());
    assert.deepEqual(await faults(page), []);

    const beside = detail.locator(".beside tbody tr");
    const bytesOf = async (i) => Number(await beside.nth(i).locator("td")
        .first().getAttribute("data-v"));
    assert.equal(await beside.count(), 4);
    assert.equal(await bytesOf(1), (await total("site==parse")).bytes);
    assert.match(await beside.nth(2).innerText(), /^called by\s+save/);
    assert.equal(await bytesOf(3), (await total("site==parse&in==load")).bytes);
    const bytes = await bytesOf(0);
    assert.ok(bytes > 0 && bytes < await bytesOf(1));
    assert.equal(bytes, (await total("site==parse&in==save")).bytes);

    await detail.getByRole("link", { name: "Samples: The same stack" }).focus();
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(hash(page), /^#view=samples&node=\d+$/);
    assert.equal(await shownTotal(page), bytes);
    assert.equal(await detail.count(), 0);
    assert.match(await page.locator(".chips").innerText(), /one call stack/);
    await names.first().click();
    await detail.getByRole("link", { name: "Flame graph: All of parse" })
        .click();
    await settled(page);
    assert.match(hash(page), /^#view=flame&site==parse&node=\d+$/);
    assert.match(await page.locator(".chips").innerText(),
                 /allocated by parse/);
    await done();
    await s.stop();
});

/* ---- unusual traces --------------------------------------------------- */

test("a trace of nothing, and of one sample", async () => {
    const nothing = write("nothing.ctf", new TraceFile().bytes());
    const single = new TraceFile();
    single.alloc(10, [{ name: "main" }, { name: "only" }]);
    const s = await serve(nothing, write("single.ctf", single.bytes()));
    for (const view of VIEWS) {
        const a = await open(`${s.url}#view=${view}&live=peak`);
        await settled(a.page);
        assert.equal(await shownTotal(a.page), 0, view);
        await a.done();
        const b = await open(`${s.url}#view=${view}&t=1`);
        await settled(b.page);
        assert.ok(await shownTotal(b.page) > 0, view);
        assert.match(await b.page.locator("main").innerText(),
                     /from 1 sampled/, view);
        await b.done();
    }
    await s.stop();
});

test("a program in C meets no words of a heap", async () => {
    const t = new TraceFile({ word_bits: 8 });
    t.alloc(5000, [{ name: "main" }], { source: 2 });
    t.alloc(5000, [{ name: "main" }, { name: "maps" }], { source: 1 });
    const path = write("bytes.ctf", t.bytes());
    const s = await serve(path, trace);
    for (const [traces, has] of [["t=0", false], ["t=1", true]])
        for (const view of VIEWS) {
            const { page, done } = await open(`${s.url}#view=${view}&${traces}`);
            await settled(page);
            await page.keyboard.press("e");
            await page.locator(".form").first().waitFor();
            const text = await page.locator("body").innerText();
            for (const word of [/\bminor\b/, /\bmajor\b/])
                assert.equal(word.test(text), has, `${view} ${traces}`);
            if (view === "samples")
                assert.equal(/promoted/i.test(text), has);
            if (view === "samples" && !has)
                assert.match(text, /\bmalloc\b[^]*\bmmap\b/);
            assert.ok(has || !/promoted|8 bits/i.test(text), view);
            await done();
        }
    assert.doesNotMatch(aliquot("info", path).toString(), /minor|promot/);
    assert.match(aliquot("info", trace).toString(), /minor[^]*promot/);
    await s.stop();
});

test("names that would be markup are text, long ones are cut", async () => {
    const names = ["<img src=x onerror=alert(1)>", "</script><b>b",
                   "a\u202eb", "\"'><svg/onload=alert(2)>"];
    const long = "very_".repeat(400) + "::operator[]";
    const t = new TraceFile({ program: "<i>program</i>" });
    for (const name of [...names, long])
        t.alloc(100, [{ name: "main", file: "<u>.c" }, { name }]);
    const s = await serve(write("<hr>.ctf", t.bytes()));
    for (const view of VIEWS) {
        const { page, done } = await open(`${s.url}#view=${view}`);
        page.on("dialog", () => assert.fail("a name has run"));
        await settled(page);
        assert.equal(await page.locator("main :is(img, svg:not([role]), u, hr, i:not(" +
            "[class]))").count(), 0, view);
        assert.equal(await page.locator("h1 *:not(bdi)").count(), 0);
        if (view === "sites") {
            const text = await page.locator("main").innerText();
            // A format character: a question mark for each byte.
            for (const name of names)
                assert.ok(text.includes(name.replace("\u202e", "???")), name);
            assert.ok(text.includes("very_very_"));
            assert.ok(!text.includes(long), "cut");
            assert.ok(text.includes("very_::operator[]"), "the end");
            assert.equal(await page.locator(".code[title]")
                .getAttribute("title"), long, "whole on hover");
        }
        await page.setViewportSize({ width: 360, height: 800 });
        await fits(page, 360);
        await done();
    }
    await s.stop();
});

test("names of C++ are as short as the report's, whole on hover and by copy",
     async () => {
    const string = "std::__cxx11::basic_string<char, std::char_traits<char>, " +
        "std::allocator<char> >";
    const name = `std::map<${string}, int, std::less<${string} >, ` +
        `std::allocator<std::pair<${string} const, int> > >::operator[]` +
        `(${string}&&)`;
    const short = "std::map<std::string, int>::operator[]";
    const t = new TraceFile();
    for (let i = 0; i < 200; i++)
        t.at(i).alloc(100, [{ name: "main" }, { name }]);
    const path = write("cxx.ctf", t.bytes());
    assert.ok(aliquot("report", path).toString().includes(short), "report");
    assert.ok(!aliquot("report", path).toString().includes("__cxx11"));
    const s = await serve(path, path);
    for (const view of VIEWS.filter((v) => v !== "heat" && v !== "trace")) {
        const { page, done } = await open(`${s.url}#view=${view}` +
            (view === "diff" ? "&b.t=1&b.alloc=0..50" : ""), {
            permissions: ["clipboard-read", "clipboard-write"] });
        await settled(page);
        if (view === "flame") {
            await page.mouse.move(640, (await page.locator(".flame")
                .boundingBox()).y + 50);
            assert.equal(await page.locator(".tip-name").innerText(), name);
            await page.locator(".flame").focus();
            for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
            const bar = page.locator(".picked-bar bdi");
            assert.equal(await bar.innerText(), short);
            assert.equal(await bar.getAttribute("title"), name);
            await page.getByRole("button", { name: "Copy name" }).click();
            assert.equal(await page.evaluate(() =>
                navigator.clipboard.readText()), name);
        } else if (view === "graph") {
            const all = (what) => page.locator(`main svg ${what}`)
                .allTextContents();
            assert.ok((await all("title")).some((x) => x.includes(name)));
            assert.ok((await all("text")).some((x) => x.endsWith("operator[]")));
        } else {
            const main = page.locator("main");
            assert.ok((await main.innerText()).includes(short), view);
            assert.equal(await main.locator("bdi", { hasText: short }).first()
                .getAttribute("title"), name, view);
        }
        await done();
    }
    await s.stop();
});

test("100,000 sites", async () => {
    const t = new TraceFile();
    const die = dice(1);
    for (let i = 0; i < 100_000; i++)
        t.at(i * 10).alloc(1 + Math.floor(die() * 200),
                           [{ name: "main" }, { name: `site_${i}` }]);
    const s = await serve(write("sites.ctf", t.bytes()));
    const { page, done } = await open(`${s.url}#view=sites`);
    await settled(page);
    assert.match(await page.locator("tfoot .rest").innerText(),
                 /99\.5k more, not listed/);
    const total = await shownTotal(page);
    /* The order is that of all sites, not of those that are listed. */
    const firstAfter = async (text) => {
        await page.evaluate((h) => { location.hash = h; }, `#view=sites${text}`);
        await settled(page);
        return page.locator("tbody .code").first().innerText();
    };
    assert.equal(await firstAfter("&sort=name"), "site_0");
    assert.equal(await firstAfter("&sort=-name"), "site_99999");
    assert.equal(await firstAfter("&sort=-life"), "site_99999");
    await firstAfter("");
    await page.locator("#search").fill("site_99999");
    await page.getByText("site_99999").first().waitFor();
    await settled(page);
    assert.equal(await page.locator("tbody tr").count(), 1);
    assert.equal(await shownTotal(page), total);
    await page.keyboard.press("Escape");
    await page.keyboard.press("1");
    await settled(page);
    assert.equal(await shownTotal(page), total);
    assert.match(await page.locator(".under").innerText(), /Not drawn/);
    await done();
    await s.stop();
});

/* ---- source, deep stacks, differences --------------------------------- */

test("source lines, where the file is there", async () => {
    const source = write("made.c", "int main(void)\n{\n    work(1);\n" +
        "    <b>work</b>(2);\n}\n");
    const t = new TraceFile();
    for (let i = 0; i < 30; i++)
        t.alloc(100, [{ name: "main", file: source, line: i % 3 ? 3 : 4 },
                      { name: "work", file: "gone.c", line: 7 }]);
    const s = await serve(write("lines.ctf", t.bytes()));
    const { page, complaints, done } = await open(`${s.url}#view=functions`);
    await settled(page);
    await page.locator("tbody tr", { hasText: "main" }).first().press("Enter");
    await settled(page);
    await page.getByRole("button", { name: "4", exact: true }).click();
    await page.getByText("<b>work</b>(2);").waitFor();
    assert.match(hash(page), /line=4/);
    const row = page.locator(".source tr.picked");
    assert.match(await row.innerText(), /^[0-9.]+ [KM]iB\s/);
    await page.goto("about:blank");
    await page.goto(`${s.url}#view=functions`);
    await settled(page);
    await page.locator("tbody tr", { hasText: "work" }).first().press("Enter");
    await settled(page);
    await page.getByRole("button", { name: "7", exact: true }).click();
    assert.match(await page.locator(".error").innerText(), /gone\.c/);
    complaints.length = 0; /* the browser tells of the status, too */
    await done();
    await s.stop();
});

test("a stack of a thousand calls", async () => {
    const t = new TraceFile();
    const deep = Array.from({ length: 1000 }, (_, i) => ({ name: `call_${i}` }));
    for (let i = 0; i < 20; i++) t.alloc(1000, deep);
    const s = await serve(write("deep.ctf", t.bytes()));
    const { page, done } = await open(`${s.url}#view=flame`);
    await settled(page);
    const total = await shownTotal(page);
    await page.locator(".flame").evaluate((e) => { e.scrollTop = 1e6; });
    const { height } = await page.locator(".flame").boundingBox();
    await page.locator(".flame").click({ position: { x: 50, y: height - 10 } });
    await settled(page);
    const path = await crumbs(page);
    assert.equal(path.length, 64); /* the most that a focus has */
    assert.equal(path[63], "call_999");
    assert.equal(await shownTotal(page), total);
    await page.keyboard.press("3");
    await settled(page);
    assert.equal(await shownTotal(page), total);
    await done();
    await s.stop();
});

test("two times of one trace, and two traces", async () => {
    const t = new TraceFile();
    const old = [];
    const put = (name, n) => Array.from({ length: n }, () =>
        t.alloc(500, [{ name: "main" }, { name }]));
    old.push(...put("leaves", 300));
    put("stays", 300);
    t.at(1000);
    put("comes", 300);
    for (const block of old) t.free(block);
    t.at(2000);
    put("comes", 1);
    const first = write("first.ctf", t.bytes());
    const u = new TraceFile();
    for (let i = 0; i < 300; i++)
        u.alloc(500, [{ name: "main" }, { name: "new in this" }]);
    const s = await serve(first, write("second.ctf", u.bytes()));

    const { page, done } = await open(
        `${s.url}#view=diff&live=500&b.t=0&b.live=1500`);
    await settled(page);
    const row = async (name) => (await page.locator("tbody tr",
        { hasText: name }).innerText()).split(/\t\s*/);
    assert.match((await row("leaves")).join(" "), /−.* MiB/);
    assert.match((await row("comes")).join(" "), /\+.* MiB/);
    assert.match((await row("stays")).join(" "), / 0 B /);
    assert.equal(await page.locator("th.chance").count(), 1);

    await page.getByRole("button", { name: "Flame graph", exact: true }).click();
    await settled(page);
    await page.keyboard.press("g");
    await page.keyboard.press("ArrowDown"); /* all */
    await page.keyboard.press("ArrowDown"); /* main */
    await page.keyboard.press("ArrowDown");
    assert.match(await page.locator(".said").innerText(),
                 /standard errors|chance/);
    await page.keyboard.press("Enter");
    await settled(page);
    assert.match(hash(page), /focus=\d+,\d+/);

    /* What only the second trace has cannot be a focus. */
    await page.goto("about:blank"); /* so that nothing of before is there */
    await page.goto(`${s.url}#view=diff&b.t=1&as=graph`);
    await settled(page);
    await page.keyboard.press("g");
    for (const key of ["ArrowDown", "ArrowDown", "ArrowDown"])
        await page.keyboard.press(key);
    for (let i = 0; i < 5; i++) {
        if ((await page.locator(".said").innerText()).startsWith("new in"))
            break;
        await page.keyboard.press("ArrowRight");
    }
    assert.match(await page.locator(".said").innerText(), /^new in this/);
    const before_ = hash(page);
    await page.keyboard.press("Enter");
    assert.equal(hash(page), before_);
    assert.equal(await page.getByRole("button", { name: /^Focus/ }).count(), 0);
    assert.equal(await page.getByRole("button", { name: /^Only/ }).count(), 1);
    await done();
    await s.stop();
});
