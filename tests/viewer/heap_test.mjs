/* heap_test.mjs -- what `aliquot heap --export` writes, read by Chrome DevTools
 *
 * The browser brings DevTools' reader of heap snapshots: its own module is loaded
 * in a page of its own, and calculates distances, dominators and retained sizes,
 * which are compared with ours. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { SOURCE, aliquot, close, dir, open } from "./harness.mjs";

const GRAPHS = 40, SEED = Number(process.env.ALQ_TEST_SEED ?? 0);
const FIRST_HOLDER = 2;

/* Runs in the browser. */
async function read(text) {
    const worker = await import("devtools://devtools/bundled/entrypoints/" +
        "heap_snapshot_worker/heap_snapshot_worker.js");
    const loader = new worker.HeapSnapshotLoader.HeapSnapshotLoader(
        { sendEvent() {} });
    for (let at = 0; at < text.length; at += 1 << 16)
        loader.write(text.slice(at, at + (1 << 16)));
    loader.close();
    const ports = new MessageChannel();
    new worker.HeapSnapshot.SecondaryInitManager(ports.port2);
    const snapshot = await loader.buildSnapshot(ports.port1);
    const nodes = [];
    for (let i = 0; i < snapshot.nodeCount; i++) {
        const node = snapshot.createNode(i * snapshot.nodeFieldCount);
        nodes.push({ name: node.name(), own: node.selfSize(),
                     retained: node.retainedSize(), far: node.distance() });
    }
    return { nodes, total: snapshot.totalSize };
}

/* By address, or by name of the root: retained bytes. */
function retained(nodes, into = new Map()) {
    for (const n of nodes) {
        into.set(n.root ?? BigInt(n.address), n);
        retained(n.below, into);
    }
    return into;
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function judge(theirs, ours) {
    const all = retained(ours.tree);
    const blocks = [...all.keys()].filter((k) => typeof k === "bigint")
        .sort(compare);
    const n = theirs.nodes.length - blocks.length;

    assert.equal(theirs.total, ours.held.bytes);
    assert.equal(theirs.nodes[0].retained, ours.held.bytes);
    for (const node of theirs.nodes.slice(FIRST_HOLDER, n))
        assert.equal(node.retained, all.get(node.name).retained_bytes,
                     node.name);
    blocks.forEach((address, i) => {
        const node = theirs.nodes[n + i], own = all.get(address);

        assert.equal(node.name, own.kind);
        assert.equal(node.own, own.own_bytes);
        assert.equal(node.retained, own.retained_bytes, address.toString(16));
    });
    return blocks.length;
}

test("DevTools retains what we say", async () => {
    const { page } = await open("devtools://devtools/bundled/devtools_app.html");
    let n_blocks = 0;

    execFileSync("python3", ["-B", join(SOURCE, "tests/heapview/snapshots.py"),
                             dir, String(GRAPHS), String(1000 * SEED)]);
    for (let i = 0; i < GRAPHS; i++) {
        const file = join(dir, `${i}.heap`), out = `${file}snapshot`;

        aliquot("heap", "-f", "--export", out, file);
        n_blocks += judge(
            await page.evaluate(read, readFileSync(out, "utf8")),
            JSON.parse(aliquot("heap", "--json", "--tree", "--depth=64",
                               "--top=0", file)));
    }
    assert.ok(n_blocks > GRAPHS);
    await page.context().close();
});

after(close);
