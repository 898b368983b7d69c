/* draw.tsx -- how pictures of stacks are drawn: recursion, threads, libraries
 *
 * All of it is in the address; the rules by which frames are folded are fields
 * of the filter, and chips. */

import type { TraceInfo } from "./answers";
import { formIsOpen } from "./filters";
import type { Params } from "./state";
import { all, go, one } from "./state";

/* The rule that takes whatever is a library's. */
export const LIBRARIES = "library:";

export const isOwnOf = (params: Params) => one(params, "colour") === "own";

export function Draw(props: { params: Params; trace: TraceInfo;
                              isPlain?: boolean /* own code has no colour */ }) {
    const { params } = props;
    const rules = all(params, "fold");
    const isFolded = rules.includes(LIBRARIES);
    const toggle = (key: string, value: string, text: string,
                    title: string) => {
        const isOn = one(params, key) === value;
        return <button type="button" aria-pressed={isOn} title={title}
            onClick={() => go({ [key]: isOn ? undefined : value })}>
            {text}</button>;
    };
    return <>
        <div class="choice" role="group" aria-label="Stacks">
            {toggle("recursion", "keep", "Recursion",
                    "show a function each time it stands on a stack")}
            {props.trace.threads.length > 1 &&
                toggle("threads", "split", "By thread",
                       "each thread has stacks of its own")}
            <button type="button" aria-pressed={isFolded}
                title="one frame for each run of a system library's frames"
                onClick={() => go({ fold: isFolded
                    ? rules.filter((r) => r !== LIBRARIES)
                    : [...rules, LIBRARIES] })}>Fold libraries</button>
            <button type="button" title="rules by which frames are folded"
                onClick={() => {
                    formIsOpen.set(true);
                    setTimeout(() => document.querySelector<HTMLElement>(
                        "[aria-label^='Fold frames']")?.focus());
                }}>Rules…</button>
            {!props.isPlain && toggle("colour", "own", "Own code", "colour " +
                "what is the program's own, and what is a system library's")}
        </div>
        {!props.isPlain && isOwnOf(params) && <span class="whose">
            <i class="own" /> own <i class="lib" /> libraries</span>}
    </>;
}
