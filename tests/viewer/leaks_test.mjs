/* leaks_test.mjs -- what was never freed, by what leads to it: each figure of
 * the page is one of the report */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, test } from "node:test";
import { aliquot, axeSource, close, dir, faults, hash, open, report, serve, settled,
         shownTotal } from "./harness.mjs";

const CLASSES = [["lost", "Lost"], ["indirect", "Indirectly lost"],
                 ["possible", "Possibly lost"], ["held", "Held"],
                 ["unknown", "Not looked at"]];

function made(name, ...keys) {
    const path = join(dir, name);
    execFileSync(process.env.VIEW_TRACE, [path, "events=20000", "stacks=60",
                                          "functions=30", "never=100", ...keys]);
    return path;
}

const cellsOf = (row) => row.locator("td").evaluateAll((cells) =>
    cells.map((c) => c.dataset.v ?? ""));

/* What a row of the classes has: value, error, share, the other, sampled. */
function wantedCells(r, c, isExact, total) {
    const few = `${r[c + "_bytes_low"]}..${r[c + "_bytes_high"]}`;
    const cells = [[String(r[c + "_bytes"])],
                   [String(r[c + "_bytes_stderr"]), few],
                   [String(total > 0 ? r[c + "_bytes"] / total : 0)],
                   [String(r[c + "_objects"])],
                   [String(r[c + "_sampled_blocks"])]];
    return isExact ? [cells[0], cells[2], cells[3]] : cells;
}

for (const [name, ...keys] of [["sampled"], ["exact", "exact=1"],
                               ["heap", "heap=1", "domains=3"]])
    test(`classes of a trace: ${name}`, async () => {
        const path = made(`${name}.ctf`, "reach=1", ...keys);
        const r = report("--leaks", "--top=0", path);
        const isExact = r.recording.is_exact;
        const s = await serve(path);
        const { page, done } = await open(`${s.url}#view=sites&live=end`);
        await settled(page);
        const classes = page.getByRole("region", { name: "What leads to them" });
        for (const [c, title] of CLASSES) {
            const row = classes.locator("tbody tr").filter({ has: page
                .getByRole("button", { name: title, exact: true }) });
            const cells = await cellsOf(row);
            wantedCells(r, c, isExact, r.live_bytes).forEach((list, i) =>
                assert.ok(list.includes(cells[i]), `${c} ${i}: ${cells[i]}, ` +
                    list.join(" or ")));
        }

        /* By site: every cell, and what the pointer says of it. */
        const sites = page.getByRole("region", { name: "Allocation sites" });
        const rows = sites.locator("tbody tr");
        const wanted = r.sites.filter((x) => CLASSES.some(([c]) =>
            x[c + "_objects"] > 0));
        assert.equal(await rows.count(), wanted.length);
        for (const x of wanted) {
            const row = rows.filter({ has: page.locator("th .code",
                { hasText: new RegExp(`^${x.function}$`) }) })
                .filter(x.is_mapping ? { has: page.locator(".tag") }
                    : { hasNot: page.locator(".tag") });
            assert.deepEqual(await cellsOf(row), [
                ...CLASSES.map(([c]) => String(x[c + "_bytes"])),
                String(x.live_bytes)], x.function);
        }
        assert.deepEqual(await cellsOf(sites.locator("tr.whole")), [
            ...CLASSES.map(([c]) => String(r[c + "_bytes"])),
            String(r.live_bytes)]);

        /* A class is a filter, in the address and in the form. */
        await classes.getByRole("button", { name: "Lost", exact: true }).click();
        await settled(page);
        assert.equal(hash(page), "#view=sites&live=end&reach=lost");
        assert.equal(await shownTotal(page), r.lost_bytes);
        assert.equal(await page.locator("th", { hasText: "Mean lifetime" })
            .count(), 1);
        await page.keyboard.press("e");
        await page.getByLabel("Held", { exact: true }).check();
        await settled(page);
        assert.equal(hash(page), "#view=sites&live=end&reach=lost,held");
        assert.ok(Math.abs(await shownTotal(page) -
            r.lost_bytes - r.held_bytes) <= 1);
        assert.match(await page.locator(".chips").innerText(), /lost, held/);
        await done();
        await s.stop();
    });

/* What holds them: each row is one of the report's, with the page's filter. */
for (const [name, ...keys] of [["sampled"], ["exact", "exact=1"],
                               ["heap", "heap=1"]])
    test(`holders of a trace: ${name}`, async () => {
        const path = made(`held_${name}.ctf`, "reach=1", "holders=9", ...keys);
        const s = await serve(path);
        for (const [hash, filter] of [["", ""], ["&reach=possible", "reach=possible"],
                                      ["&size=..2000", "size=..2000"]]) {
            const r = report("--leaks", "--top=0", `--filter=live=end&${filter}`,
                             path);
            const { page, done } = await open(`${s.url}#view=sites&live=end${hash}`);
            await settled(page);
            const table = page.getByRole("region", { name: "What holds them" });
            await table.waitFor();
            const rows = await table.locator("tbody tr").all();
            const wanted = r.holders.filter((h) => h.way.length > 0);
            assert.equal(rows.length, wanted.length);
            const left = new Map(wanted.map((h) => [
                h.way.map((w) => w.name + (w.most > 1 ? ` ×${w.most}` : ""))
                    .join(" → ") + " " + h.class, h]));
            let last = Infinity;
            for (const row of rows) {
                const tag = await row.locator(".tag").allInnerTexts();
                const c = CLASSES.find(([, title]) => title === (tag[0] ?? "Held"))[0];
                const key = await row.locator(".code").innerText() + " " + c;
                const h = left.get(key);
                assert.ok(h, key);
                left.delete(key);
                assert.ok(h.live_bytes <= last, key);
                last = h.live_bytes;
                const cells = await cellsOf(row);
                const named = Object.fromEntries(Object.entries(h)
                    .map(([k, v]) => [k.replace("live_", "held_"), v]));
                wantedCells(named, "held", r.recording.is_exact, r.live_bytes)
                    .forEach((list, i) => i === (r.recording.is_exact ? 1 : 2)
                        ? assert.ok(Math.abs(cells[i] - list[0]) < 1e-6)
                        : assert.ok(list.includes(cells[i]), `${key} ${i}`));
                const sites = await row.locator(".callers").getAttribute("title");
                assert.ok(sites.includes("% " + h.sites[0].function), sites);
                assert.equal(sites.includes(" more"), h.sites.length > 3);
            }
            const none = r.holders.filter((h) => h.way.length === 0)
                .reduce((n, h) => n + h.live_bytes, 0);
            const untold = await table.locator("tfoot tr.rest").filter(
                { hasText: "Without a holder" }).locator("td").first()
                .getAttribute("data-v");
            assert.ok(Math.abs(untold - none) <= 4);
            await done();
        }
        await s.stop();
    });

test("an exported page has the same classes", async () => {
    const path = made("carried.ctf", "reach=1", "holders=9"), html = join(dir, "carried.html");
    aliquot("export", "-o", html, path);
    const s = await serve(path);
    const tables = [];
    for (const url of [s.url, `file://${html}`]) {
        const { page, done } = await open(`${url}#view=sites&live=end`);
        await settled(page);
        await page.getByRole("region", { name: "What leads to them" }).waitFor();
        tables.push(await page.locator("main table.figures").evaluateAll((list) =>
            list.map((t) => [...t.querySelectorAll("th .code, [data-v]")]
                .map((c) => c.dataset.v ?? c.textContent))));
        await done();
    }
    assert.ok(tables[0].flat().length > 100);
    assert.deepEqual(tables[1], tables[0]);
    await s.stop();
});

test("when it was looked, and what tells it if it was not", async () => {
    const early = made("early.ctf", "reach=2"), plain = made("plain.ctf");
    const heap = made("plain_heap.ctf", "heap=1");
    for (const [path, text] of [
        [early, /when exit handlers had run; libraries may free more/],
        [plain, /A trace of aliquot record --leaks tells/],
        [heap, /does a root still lead to\? A trace of aliquot record --leaks tells/]]) {
        const s = await serve(path);
        const { page, done } = await open(`${s.url}#view=sites&live=end`);
        await settled(page);
        await page.getByText(/steadily/).first().waitFor();
        await page.getByText(text).waitFor();
        await page.keyboard.press("e");
        assert.equal(await page.getByText("Never freed, and").count(),
                     path === early ? 1 : 0);
        await done();
        await s.stop();
    }
});

test("a heap has no words of malloc", async () => {
    const s = await serve(made("words.ctf", "reach=2", "heap=1"));
    const { page, done } = await open(`${s.url}#view=sites&live=end`);
    await settled(page);
    await page.getByText("Never freed, by what led to it when the trace ended")
        .waitFor();
    await page.getByText("roots lead to them").first().waitFor();
    for (const word of [/exit handlers/, /variables, stacks/, /malloc/])
        assert.equal(await page.getByText(word).count(), 0, word);
    await page.goto(`${s.url}#view=samples&heap=malloc`);
    await settled(page);
    await page.getByText("heap: external").waitFor();
    await page.getByRole("cell", { name: "external" }).first().waitFor();
    await page.keyboard.press("e");
    await page.getByLabel("external", { exact: true }).waitFor();
    assert.equal(await page.getByText(/malloc/).count(), 0);
    await done();
    await s.stop();
});

test("classes and holders in any window, for all eyes", async () => {
    const s = await serve(made("seen.ctf", "reach=1", "holders=9"));
    for (const colorScheme of ["light", "dark"])
        for (const width of [1280, 400]) {
            const { page, done } = await open(
                `${s.url}#view=sites&live=end`,
                { viewport: { width, height: 800 }, colorScheme,
                  bypassCSP: true });
            await settled(page);
            await page.getByText("Possibly lost").first().waitFor();
            await page.getByText("Without a holder").waitFor();
            assert.ok((await page.getByRole("region", { name: "Allocation sites" })
                .boundingBox()).height > 100, `${width}`);
            await page.evaluate(axeSource());
            assert.deepEqual(await faults(page), [], `${colorScheme} ${width}`);
            assert.equal(await page.evaluate(() => document.documentElement
                .scrollWidth <= innerWidth), true, `${width}`);
            await done();
        }
    await s.stop();
});

after(close);
