/* harness.mjs -- a browser, a server, and what every test of the page wants
 *
 * A page is a browser context of its own.  Each request that it makes is kept,
 * and so is each message of its console; both are judged when it is closed. */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from
    "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/* Where the machine is loaded a browser takes its time. */
export const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 900_000);
const SKIP = 77;

/* Whether a test that has a brief form is to run its long one. */
export const LONG = process.env.ALQ_TEST_LONG === "1";

const env = (name) => {
    const value = process.env[name];
    assert.ok(value, `${name} is not set`);
    return value;
};

export const ALIQUOT = env("ALIQUOT_BIN");
export const SOURCE = env("SOURCE_DIR");
const TOOLS = env("VIEWER_TOOLS");

const require = createRequire(join(TOOLS, "package.json"));
export const axeSource = () =>
    readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser"];

function skip(why) {
    process.stderr.write(`viewer: not run: ${why}\n`);
    process.exit(SKIP);
}

/* ---- files ------------------------------------------------------------ */

export const dir = mkdtempSync(join(tmpdir(), "aliquot-viewer-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));

export function write(name, bytes) {
    const path = join(dir, name);
    writeFileSync(path, bytes);
    return path;
}

export function golden(name) {
    const packed = join(SOURCE, "tests/golden/traces", `${name}.ctf.xz`);
    return write(`${name}.ctf`, execFileSync("xz", ["-dc", packed],
                                             { maxBuffer: 1 << 28 }));
}

export const aliquot = (...args) =>
    execFileSync(ALIQUOT, args, { maxBuffer: 1 << 28 });

export const report = (...args) =>
    JSON.parse(aliquot("report", "--json", ...args).toString());

/* ---- a server --------------------------------------------------------- */

/* Ends with the test's program at the latest. */
const servers = new Set();
process.on("exit", () => servers.forEach((s) => s.kill()));

export async function serve(...args) {
    const child = spawn(ALIQUOT, ["view", "--no-open", "--no-index", ...args],
                        { stdio: ["ignore", "pipe", "inherit"] });
    servers.add(child);
    const url = await new Promise((resolve, reject) => {
        let text = "";
        child.stdout.on("data", (data) => {
            text += data;
            if (text.includes("\n")) resolve(text.split("\n")[0]);
        });
        child.on("exit", (code) =>
            reject(new Error(`aliquot view ended with ${code}`)));
    });
    // Of a test that fails, it does not keep the program alive.
    child.unref();
    child.stdout.unref();
    const stop = () => new Promise((resolve) => {
        servers.delete(child);
        child.ref();
        child.on("exit", resolve);
        child.kill();
    });
    return { url, stop };
}

/* ---- a browser -------------------------------------------------------- */

let browser;

async function launched() {
    if (browser) return browser;
    const path = BROWSERS.find(existsSync);
    if (!path) skip("chromium is not installed (devtools/packages)");
    const { chromium } = require("playwright-core");
    browser = await chromium.launch({
        executablePath: path, timeout: PATIENCE_MS,
        args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
    });
    return browser;
}

export async function close() {
    await browser?.close();
    browser = undefined;
}

/* Opens an address; `wishes` are those of a browser context. The window is as
 * high as one that has all of the page's top. */
export async function open(url, wishes = {}) {
    const context = await (await launched()).newContext({
        viewport: { width: 1280, height: 900 }, ...wishes });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const requests = [];
    const complaints = [];
    context.on("request", (r) => requests.push(r.url()));
    page.on("console", (m) => {
        if (["error", "warning"].includes(m.type()))
            complaints.push(m.text());
    });
    page.on("pageerror", (e) => complaints.push(e.stack));
    await page.goto(url, { timeout: PATIENCE_MS });
    const done = async () => {
        await context.close();
        const home = url.startsWith("file:") ? url.split("#")[0]
            : url.split("#")[0];
        assert.deepEqual(requests.filter((r) => !r.startsWith(home) &&
            !r.startsWith("data:") && !r.startsWith("blob:")), [],
            "requests to elsewhere");
        assert.deepEqual(complaints, [], "complaints in the console");
    };
    return { page, requests, complaints, done };
}

/* Waits until no view is on its way any more: the page first gets to know of
 * what the test did (an address, a drag), and is busy from then on. */
export async function settled(page) {
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
    await page.locator("#app main .view, #app main .error").first().waitFor();
    await page.waitForFunction(() =>
        !document.querySelector("[aria-busy=true], .wait"));
}

/* The bytes of the first total of the view. */
export const shownTotal = async (page) => Number(await page
    .locator("main [data-total]").first().getAttribute("data-total"));

export const hash = (page) => new URL(page.url()).hash;

/* What axe-core finds wrong, in words, by its rules of colours or by all. */
export async function faults(page, ofColours = false) {
    const found = await page.evaluate(async (ofColours) => {
        const result = await globalThis.axe.run(document, {
            runOnly: ofColours ? ["color-contrast", "link-in-text-block"]
                : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
                   "best-practice"],
        });
        return result.violations.map((v) => `${v.id}: ${v.help}: ` +
            v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | "));
    }, ofColours);
    return found;
}
