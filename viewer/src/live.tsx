/* live.tsx -- a process that runs: its traces are renewed while they are seen
 *
 * The page asks once a second; the server looks at the process then, and a new
 * generation of its traces makes every answer of before an old one. A page that
 * is paused, or that nobody sees, asks nothing. */

import { useEffect } from "preact/hooks";
import type { Live, LivePart } from "./answers";
import { askLive, hasNoServer, renewAnswers } from "./ask";
import { bytesText } from "./format";
import { clean } from "./parts";
import { one, useParams } from "./state";
import { store } from "./store";

const EACH_MS = 1000;
const INTERVALS = [32, 128, 512, 2048, 8192].map((kib) => kib * 1024);

const live = store<Live | undefined>(undefined);
const trouble = store("");
const isPaused = store(false);

/* ---- questions -------------------------------------------------------- */

let seen = -1;
let isAsking = false;

function take(answer: Live) {
    live.set(answer);
    trouble.set("");
    if (answer.parts.length === 0 || answer.generation === seen) return;
    seen = answer.generation;
    renewAnswers();
}

async function look(wish?: string) {
    if (isAsking && wish === undefined) return;
    isAsking = true;
    try {
        take(await askLive(wish));
    } catch (e) {
        trouble.set((e as Error).message);
    }
    isAsking = false;
}

const isOver = (answer: Live | undefined) => answer !== undefined &&
    answer.parts.every((p) => p.is_gone && !p.is_behind);

/* Asks for as long as the page is open. */
export function begin() {
    if (hasNoServer()) return;
    look().then(() => {
        const timer = setInterval(() => {
            if (isOver(live.get())) clearInterval(timer);
            else if (!isPaused.get() && !document.hidden) look();
        }, EACH_MS);
    });
}

/* ---- what is seen ----------------------------------------------------- */

const isRecording = (p: LivePart) =>
    p.state !== "stopped" && p.state !== "off";

function stateText(p: LivePart): string {
    const rate = p.interval_bytes > 0
        ? `, one sample for each ${bytesText(p.interval_bytes)}` : "";
    if (p.is_gone) return "has ended";
    switch (p.state) {
    case "": return "is recorded";
    case "sampling": return "is recorded" + rate;
    case "exact": return "is recorded, every block";
    case "starting": return "is recorded from its next allocation on";
    default: return "runs, and nothing of it is recorded";
    }
}

/* A recording of long is renewed less often, and one that is being caught up
 * with is not all there. */
function paceText(answer: Live, p: LivePart, paused: boolean): string {
    const each_s = Math.ceil(answer.took_us * 4 / 1e6);
    if (p.is_gone && !p.is_behind) return "";
    if (paused) return "paused: figures stay";
    if (p.is_behind) return "reading what it has recorded so far";
    return each_s > 1 ? `renewed every ${each_s} s` : "renewed each second";
}

function Rate(props: { part: LivePart; at: number }) {
    const { part, at } = props;
    const all = INTERVALS.includes(part.interval_bytes) ? INTERVALS
        : [...INTERVALS, part.interval_bytes].sort((a, b) => a - b);
    return <label>One sample for each{" "}
        <select value={part.interval_bytes} onChange={(e) =>
            look(`do=rate&part=${at}&interval=${e.currentTarget.value}`)}>
            {all.filter((n) => n > 0).map((n) =>
                <option key={n} value={n}>{bytesText(n)}</option>)}
        </select></label>;
}

function Controls(props: { part: LivePart; at: number }) {
    const { part, at } = props;
    if (!part.has_control || part.is_gone || part.state === "exact")
        return null;
    const wish = isRecording(part) ? "stop" : "start";
    return <>
        <button type="button" onClick={() => look(`do=${wish}&part=${at}`)}>
            {wish === "stop" ? "Stop sampling" : "Start sampling"}</button>
        <Rate part={part} at={at} />
    </>;
}

/* Above the views; nothing where all traces are of the past. */
export function LiveBar() {
    const params = useParams();
    const answer = live.use();
    const paused = isPaused.use();
    const problem = trouble.use();
    useEffect(() => {
        const listener = () => {
            if (!document.hidden && !isPaused.get()) look();
        };
        document.addEventListener("visibilitychange", listener);
        return () => document.removeEventListener("visibilitychange",
                                                  listener);
    }, []);
    if (!answer || answer.parts.length === 0) return null;
    const t = Number(one(params, "t") ?? "0");
    const at = Math.max(0, answer.parts.findIndex((p) => p.trace === t));
    const part = answer.parts[at];
    if (!part || (part.trace !== null && part.trace !== t)) return null;
    const lost = part.dropped + part.lost;
    return <section class="live" aria-label="The process">
        <p role="status"><span class={part.is_gone ? "" : "on"}
            aria-hidden="true">●</span>{" "}
            {clean(part.command)} ({part.pid}) {stateText(part)}
            {lost > 0 && `, ${part.dropped} samples and ${part.lost
                } frees were lost`}
            {" "}<span class="dim">{paceText(answer, part, paused)}</span></p>
        <div>
            {!isOver(answer) && <button type="button" aria-pressed={paused}
                onClick={() => {
                    isPaused.set(!paused);
                    if (paused) look();
                }}>{paused ? "Go on" : "Pause"}</button>}
            <Controls part={part} at={at} />
        </div>
        {(problem || part.trouble) && <p class="error" role="alert">
            {clean(problem || part.trouble)}</p>}
    </section>;
}
