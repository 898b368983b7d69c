/* heapgraph_peer.mjs -- Chrome DevTools' reader of heap snapshots, timed
 *
 *   heapgraph_peer.mjs FILE.heapsnapshot ROUNDS -> {"s": median, "bytes": most}
 *
 * The text is in the page before the clock starts; the time ends when retained
 * sizes are there.  bytes: the page's heap and its arrays, behind the last round.
 */
import { createRequire } from "node:module";
import { join } from "node:path";

const [file, rounds] = process.argv.slice(2);
const require = createRequire(join(process.env.VIEWER_TOOLS, "package.json"));
const { chromium } = require("playwright-core");

/* Runs in the browser. */
async function once() {
    const text = await document.querySelector("#snapshot").files[0].text();
    const worker = await import("devtools://devtools/bundled/entrypoints/" +
        "heap_snapshot_worker/heap_snapshot_worker.js");
    const since = performance.now();
    const loader = new worker.HeapSnapshotLoader.HeapSnapshotLoader(
        { sendEvent() {} });
    for (let at = 0; at < text.length; at += 1 << 20)
        loader.write(text.slice(at, at + (1 << 20)));
    loader.close();
    const ports = new MessageChannel();
    new worker.HeapSnapshot.SecondaryInitManager(ports.port2);
    const snapshot = await loader.buildSnapshot(ports.port1);
    if (!(snapshot.createNode(0).retainedSize() > 0)) throw new Error("empty");
    const s = (performance.now() - since) / 1000;
    globalThis.kept = snapshot;
    return s;
}

const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium", timeout: 900_000,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
const times = [];
let bytes = 0;
for (let i = 0; i < Number(rounds); i++) {
    const page = await browser.newPage();
    page.setDefaultTimeout(900_000);
    await page.goto("devtools://devtools/bundled/devtools_app.html");
    await page.evaluate(() => {
        const input = document.createElement("input");
        input.type = "file";
        input.id = "snapshot";
        document.body.append(input);
    });
    await page.locator("#snapshot").setInputFiles(file);
    times.push(await page.evaluate(once));
    const session = await page.context().newCDPSession(page);
    const used = await session.send("Runtime.getHeapUsage");
    bytes = Math.max(bytes, used.usedSize + (used.backingStorageSize ?? 0));
    await page.close();
}
await browser.close();
times.sort((a, b) => a - b);
process.stdout.write(JSON.stringify({
    s: times[times.length >> 1], bytes }) + "\n");
