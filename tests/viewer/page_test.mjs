/* page_test.mjs -- the page that `aliquot view` serves, used as people do */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { aliquot, axeSource, close, faults, golden, hash, open, report, serve,
         settled, shownTotal, write } from "./harness.mjs";
import { TraceFile, dice } from "./trace_file.mjs";

const VIEWS = ["flame", "sites", "tree", "functions", "hot", "heat", "samples",
               "diff", "trace"];
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
        await page.waitForTimeout(50);
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
    await page.keyboard.press("6");
    await settled(page);
    const cells = page.locator(".heat button");
    const filled = await page.locator(".heat button:enabled").count();
    assert.ok(filled > 0);
    const said = await page.locator(".over").innerText();
    assert.ok(said.includes(`${filled} of ${await cells.count()} cells`), said);
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
        await page.keyboard.press(String(i + 1));
        await settled(page);
        assert.match(hash(page), new RegExp(`view=${view}`));
    }
    await done();
});

/* ---- how it looks ----------------------------------------------------- */

for (const colorScheme of ["light", "dark"])
    test(`no view has a fault that axe finds, by ${colorScheme}`, async () => {
        for (const view of VIEWS) {
            const { page, done } = await at(`#view=${view}&live=peak`,
                                            { colorScheme });
            await page.keyboard.press("e");
            await page.evaluate(axeSource());
            assert.deepEqual(await faults(page), [], view);
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
const painted = (page) => page.evaluate(() =>
    document.querySelector(".timeline canvas").toDataURL());

test("the time line is drawn anew in the colours of the theme", async () => {
    const fresh = {};
    for (const colorScheme of ["light", "dark"]) {
        const { page, done } = await at("", { colorScheme });
        fresh[colorScheme] = await painted(page);
        await done();
    }
    assert.notEqual(fresh.light, fresh.dark);
    const { page, done } = await at("", { colorScheme: "dark" });
    const becomes = async (theme) => {
        for (let i = 0; i < 100 && await painted(page) !== fresh[theme]; i++)
            await page.waitForTimeout(50);
        assert.ok(await painted(page) === fresh[theme], theme);
    };
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
        assert.equal(await page.locator("main :is(img, svg, u, hr, i:not(" +
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
