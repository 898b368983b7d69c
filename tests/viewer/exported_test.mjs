/* exported_test.mjs -- the page in a file of its own, opened from disk */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { aliquot, axeSource, close, dir, faults, golden, hash, open, report,
         serve, settled, shownTotal, write } from "./harness.mjs";
import { carriedEngine } from "./carried.mjs";
import { TraceFile, dice } from "./trace_file.mjs";

const VIEWS = ["flame", "sites", "tree", "graph", "functions", "hot", "heat",
               "samples", "diff", "trace"];

let trace, page_file, url;

const exported = (name, ...args) => {
    const path = join(dir, name);
    aliquot("export", "-f", "-o", path, ...args);
    return path;
};

before(() => {
    trace = golden("upstream-ocamlopt.v3");
    page_file = exported("page.html", trace);
    url = "file://" + page_file;
});
after(close);

test("opens from disk, asks nobody, and shows what the server shows",
     async () => {
    const s = await serve(trace);
    for (const view of VIEWS) {
        const where = `#view=${view}&live=peak&size=16..`;
        const a = await open(url + where);
        const b = await open(s.url + where);
        await settled(a.page);
        await settled(b.page);
        const text = async (p) => (await p.locator("main").innerText())
            .replaceAll(trace, "upstream-ocamlopt.v3.ctf");
        assert.equal(await text(a.page), await text(b.page), view);
        assert.equal(a.requests.length, 1, a.requests.join());
        await a.done();
        await b.done();
    }
    await s.stop();
});

test("begins with the peak, or with what was wished", async () => {
    const a = await open(url);
    await settled(a.page);
    assert.equal(hash(a.page), "#view=flame&live=peak");
    assert.equal(await a.page.locator("#summary").count(), 0);
    await a.done();
    const b = await open("file://" + exported("leaks.html", "--leaks", trace));
    await settled(b.page);
    assert.equal(hash(b.page), "#view=flame&live=end");
    assert.equal(await shownTotal(b.page), report(trace).live_bytes);
    await b.done();
});

test("links, keys and the filter work as they do elsewhere", async () => {
    const { page, done } = await open(url);
    await settled(page);
    await page.keyboard.press("2");
    await settled(page);
    await page.getByRole("button", { name: "Leaks" }).click();
    await settled(page);
    assert.equal(hash(page), "#view=sites&live=end");
    await page.goBack();
    await settled(page);
    assert.equal(hash(page), "#view=sites&live=peak");
    await page.evaluate(axeSource());
    assert.deepEqual(await faults(page), []);
    await done();
});

test("regular expressions match what they match for the server", async () => {
    const s = await serve(trace);
    const engine = await carriedEngine(page_file);
    const asked = async (query) =>
        (await fetch(`${s.url}api/sites?${query}`)).json();
    const texts = ["^Btype[.]", "\\.\\(fun\\)$", "bal|add", "(a|b)+c?$", "^.{3,8}$",
                   "[[:upper:]][^_.]*[.]m", "set.*(ml)?$", "x*", "[]_[]_",
                   "^[^a-z]", "n{2}", "(^|_)map", "^(.|..)*t$"];
    let n_some = 0;
    for (const text of texts)
        for (const key of ["in", "notin", "infile", "inmodule"]) {
            const query = `${key}=~${encodeURIComponent(text)}`;
            const { total } = engine("sites", query);
            assert.deepEqual(total, (await asked(query)).total, query);
            n_some += total.n > 0 && total.n < engine("sites", "").total.n;
        }
    assert.ok(n_some > 15, String(n_some));
    for (const text of ["(", "[a", "a\\w", "(a{99}){99}", "a".repeat(501)]) {
        const query = `in=~${encodeURIComponent(text)}`;
        assert.throws(() => engine("sites", query), /in=~/);
        assert.match((await asked(query)).error, /in=~/);
    }
    await s.stop();
});

test("without scripts, the summary is there", async () => {
    const { page, done } = await open(url, { javaScriptEnabled: false });
    const text = await page.locator("#summary").innerText();
    assert.match(text, /Where the memory went of/);
    assert.match(text, /Btype/);
    await done();
});

test("a page that is damaged says so, and shows the summary", async () => {
    const text = readFileSync(page_file, "utf8");
    const at = text.indexOf("data-kind=index>") + 2000;
    const path = write("damaged.html", text.slice(0, at) + "AAAA" +
        text.slice(at + 4));
    const { page, complaints, done } = await open("file://" + path);
    await page.getByText("could not start").waitFor();
    assert.match(await page.locator("#summary").innerText(), /Btype/);
    complaints.length = 0;
    await done();
});

test("hostile names do no harm here, either", async () => {
    const t = new TraceFile({ program: "</script><script>alert(1)</script>" });
    t.alloc(100, [{ name: "main" }, { name: "<img src=x onerror=alert(2)>" }]);
    const path = exported("names.html", write("names.ctf", t.bytes()));
    const { page, done } = await open("file://" + path + "#view=sites");
    page.on("dialog", () => assert.fail("a name has run"));
    await settled(page);
    assert.match(await page.locator("main").innerText(), /<img src=x/);
    assert.match(await page.locator("h1").innerText(), /^<\/script>/);
    await done();
});

/* ---- fewer samples ---------------------------------------------------- */

/* 200 sites of 400 blocks each, of which one in ten is taken. */
const SITES = 200;
const BLOCKS = 400;

function made() {
    const t = new TraceFile({ rate: 1e-3 });
    const die = dice(7);
    for (let i = 0; i < SITES * BLOCKS; i++)
        t.at(i).alloc(1 + Math.floor(die() * 100),
                      [{ name: "main" }, { name: `site_${i % SITES}` }]);
    return write("made.ctf", t.bytes());
}

test("a page of fewer samples is right on average, and says how well",
     async () => {
    const path = made();
    const whole = await carriedEngine(exported("whole.html", path));
    const part = await carriedEngine(exported("part.html", "--max-samples=8000",
                                              path));
    const info = part("info", "").traces[0];
    assert.equal(info.n_rows + info.n_left_out, SITES * BLOCKS);
    /* 8000 by expectation; 85 is one standard error. */
    assert.ok(Math.abs(info.n_rows - 8000) < 600, String(info.n_rows));

    const sums = (engine) => new Map(engine("sites", "limit=500").rows
        .map((r) => [r.id, r.sum]));
    const names = (engine) => new Map(engine("sites", "limit=500").functions
        .map((f) => [f.name, f.id]));
    const [a, b] = [sums(whole), sums(part)];
    const [an, bn] = [names(whole), names(part)];
    let chi2 = 0;
    let sum = 0;
    for (let i = 0; i < SITES; i++) {
        const x = a.get(an.get(`site_${i}`));
        const y = b.get(bn.get(`site_${i}`));
        /* What drawing alone adds to the variance. */
        const z = (y.bytes - x.bytes) /
            Math.sqrt(y.bytes_se ** 2 - x.bytes_se ** 2);
        chi2 += z * z;
        sum += z;
    }
    /* Of 200 standard normal numbers, each beyond with 1e-11 or less; the
     * draw is the same each time. */
    assert.ok(Math.abs(sum) / Math.sqrt(SITES) < 6.8, `sum ${sum}`);
    assert.ok(chi2 > 80 && chi2 < 380, `chi2 ${chi2}`);
    const [all, some] = [whole("sites", ""), part("sites", "")];
    assert.ok(some.total.bytes_se > 2.5 * all.total.bytes_se);
});

test("the page says that samples were drawn", async () => {
    const path = exported("drawn.html", "--max-samples=2000", made());
    const { page, done } = await open("file://" + path);
    await settled(page);
    assert.match(await page.locator("header").first().innerText(),
                 /drawn by chance from 80,000/);
    await done();
});
