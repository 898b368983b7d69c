/* live_test.mjs -- the page of `aliquot view -p`: over a process that runs */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, test } from "node:test";
import { ALIQUOT, axeSource, close, dir, faults, hash, open, report, serve,
         settled, shownTotal } from "./harness.mjs";

after(close);

/* Grows by some 100 KB twenty times a second, and says its number. */
const PROGRAM = `
import os, sys, time
print(os.getpid(), flush=True)
kept = []
def grow():
    kept.append(bytearray(100000))
while True:
    grow()
    time.sleep(0.05)
`;
const PYTHON = "/usr/bin/python3";

/* Runs the command; its first line is the number of the process. */
async function started(command, args) {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
    process.on("exit", () => child.kill());
    const ended = new Promise((resolve) => child.on("exit", resolve));
    const line = await new Promise((resolve) => {
        let text = "";
        child.stdout.on("data", (data) => {
            text += data;
            if (text.includes("\n")) resolve(text.split("\n")[0]);
        });
    });
    const pid = Number(line);
    process.on("exit", () => {
        try {
            process.kill(pid);
        } catch { /* it has ended */ }
    });
    return { pid, ended };
}

const recorded = (trace) => started(ALIQUOT, [
    "record", "--control", "-f", "--interval=32K", "-o", trace, "--", PYTHON,
    "-c", PROGRAM]);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/* Waits for what comes in the end; the test's own time bounds it. */
async function until(is) {
    while (!await is()) await pause(100);
}

test("a process is seen as it grows, is told to stop, and ends", async () => {
    const trace = `${dir}/live.ctf`;
    const program = await recorded(trace);
    const s = await serve("-p", String(program.pid));
    const { page, done } = await open(s.url + "#view=functions&live=end&in=grow");
    await settled(page);
    const bar = page.locator(".live");
    const says = (text) => until(async () =>
        text.test(await bar.innerText()));
    const grows = async () => {
        const before = await shownTotal(page);
        await until(async () => await shownTotal(page) > before);
    };
    const press = (name) =>
        bar.getByRole("button", { name, exact: true }).click();

    const end_us = async () => (await (await fetch(s.url + "api/info"))
        .json()).traces[0].end_us;
    const begun_us = await end_us();

    await says(/is recorded, one sample for each 32 KiB/);
    await says(/renewed/);
    await grows();
    await grows();
    assert.equal(hash(page), "#view=functions&live=end&in=grow");
    await page.evaluate(axeSource());
    assert.deepEqual(await faults(page), []);

    /* A moment that was not there when the time line was first drawn. */
    await until(async () => await end_us() > 2 * begun_us);
    await grows();
    const line = await page.locator(".u-over").boundingBox();
    await page.mouse.click(line.x + 0.9 * line.width, line.y + 20);
    await settled(page);
    assert.ok(Number(/live=(\d+)/.exec(hash(page))[1]) > begun_us);
    await page.goBack();
    await settled(page);

    await press("Pause");
    await says(/paused: figures stay/);
    const paused = await shownTotal(page);
    await pause(2500);
    assert.equal(await shownTotal(page), paused);
    await press("Go on");
    await grows();

    await press("Stop sampling");
    await says(/nothing of it is recorded/);
    await press("Start sampling");
    await says(/is recorded, one/);
    await bar.getByRole("combobox").selectOption("131072");
    await says(/one sample for each 128 KiB/);

    process.kill(program.pid);
    await program.ended;
    await says(/has ended\s*$/);
    const { ended, notes } = (await (await fetch(s.url + "api/info"))
        .json()).traces[0];
    assert.equal(ended, "killed");
    assert.match(notes.join(), /the program was killed/);
    /* What it did last is on the page without being asked for. */
    const last = (await (await fetch(s.url +
        "api/functions?live=end&in=grow")).json()).total.bytes;
    assert.ok(last > 0);
    await until(async () => await shownTotal(page) === last);
    await page.goto(`${s.url}#view=sites`);
    await settled(page);
    assert.ok(Math.abs(await shownTotal(page) -
        report(trace).allocated_bytes) <= 1);
    await done();
    await s.stop();
});

/* Nobody has prepared it: it is attached to, and let go. */
test("a process without a profiler is seen, too", async () => {
    const program = await started(PYTHON, ["-c", PROGRAM]);
    const s = await serve("-p", String(program.pid));
    const ask = async (name) => await (await fetch(s.url + "api/" + name)).json();
    await until(async () => {
        const [part] = (await ask("live")).parts;
        assert.equal(part.pid, program.pid);
        assert.equal(part.has_control, false);
        return part.trace === 0;
    });
    const before = (await ask("info")).traces[0].total.bytes;
    await until(async () => {
        await ask("live");
        return (await ask("info")).traces[0].total.bytes > before;
    });
    const refused = await fetch(s.url + "api/live?do=stop", { method: "POST" });
    assert.equal(refused.status, 409);
    await s.stop();
    process.kill(program.pid, 0); /* runs on */
    process.kill(program.pid);
    await program.ended;
});
