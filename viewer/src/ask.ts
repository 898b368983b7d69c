/* ask.ts -- questions to the engine: a server, or the same code in the page */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Live } from "./answers";
import { store } from "./store";

export type Engine = (name: string, query: string) => Promise<unknown>;

/* Answers do not change while the page is open, unless the traces do: those of
 * another generation are asked for anew. */
const generation = store(0);

export function renewAnswers() {
    kept.clear();
    generation.set(generation.get() + 1);
}

const KEPT = 64;
const kept = new Map<string, Promise<unknown>>();

async function fromServer(name: string, query: string): Promise<unknown> {
    let response: Response;
    try {
        response = await fetch(`api/${name}?${query}`);
    } catch {
        throw new Error("the server does not answer: it may have ended. " +
            "Start aliquot view again and open the address it prints.");
    }
    const type = response.headers.get("content-type") ?? "";
    if (!type.includes("json"))
        throw new Error(`the server answers ${response.status}`);
    const answer = await response.json();
    if (!response.ok)
        throw new Error(answer.error ?? `the server says ${response.status}`);
    return answer;
}

/* What is wished is posted; without a wish the process is looked at. */
export async function askLive(wish?: string): Promise<Live> {
    if (wish === undefined) return await fromServer("live", "") as Live;
    const response = await fetch(`api/live?${wish}`, { method: "POST" });
    if (!response.ok) throw new Error((await response.text()).trim());
    return await response.json();
}

let engine: Engine = fromServer;
let isStatic = false;

export function setEngine(other: Engine) {
    engine = other;
    isStatic = true;
}

/* Whether the page carries its data itself: there are no source files then. */
export const hasNoServer = () => isStatic;

export function ask<T>(name: string, query: string): Promise<T> {
    const key = `${name}?${query}`;
    let answer = kept.get(key);
    if (answer)
        kept.delete(key); /* and in again, as the newest */
    else
        answer = engine(name, query);
    kept.set(key, answer);
    answer.catch(() => kept.delete(key));
    if (kept.size > KEPT) kept.delete(kept.keys().next().value as string);
    return answer as Promise<T>;
}

export interface Asked<T> {
    answer: T | undefined; /* the last one, while the next is on its way */
    error: string | undefined;
    isWaiting: boolean;
}

/* What `run` promises, anew whenever the key is another, and when the traces
 * are, which nobody need wait for; null asks nothing.  Whoever draws another key
 * waits from then on, and not only once the question is on its way. */
export function useAsked<T>(key: string | null, run: () => Promise<T>):
    Asked<T> {
    const [said, set] = useState<{ key: string | null; answer?: T;
                                   error?: string }>({ key: null });
    const latest = useRef(0);
    const of = generation.use();

    useEffect(() => {
        const number = ++latest.current;
        const say = (what: { answer?: T; error?: string }) => {
            if (number === latest.current) set({ key, ...what });
        };
        if (key === null)
            say({});
        else
            run().then((answer) => say({ answer }),
                       (e: Error) => say({ error: e.message }));
    }, [key, of]);
    return { answer: said.answer, error: said.error,
             isWaiting: key !== null && key !== said.key };
}

export const useAnswer = <T>(name: string, text: string | null) =>
    useAsked<T>(text === null ? null : `${name}?${text}`,
                () => ask<T>(name, text ?? ""));

export const query = (...parts: string[]) =>
    parts.filter((p) => p !== "").join("&");
