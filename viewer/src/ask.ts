/* ask.ts -- questions to the engine: a server, or the same code in the page */

import { useEffect, useRef, useState } from "preact/hooks";

export type Engine = (name: string, query: string) => Promise<unknown>;

/* Answers do not change while the page is open. */
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

/* What `run` promises, anew whenever the key is another; null asks nothing. */
export function useAsked<T>(key: string | null, run: () => Promise<T>):
    Asked<T> {
    const [state, set] = useState<Asked<T>>({
        answer: undefined, error: undefined, isWaiting: key !== null,
    });
    const latest = useRef(0);

    useEffect(() => {
        const number = ++latest.current;
        const say = (s: Asked<T>) => {
            if (number === latest.current) set(s);
        };
        if (key === null) {
            set({ answer: undefined, error: undefined, isWaiting: false });
            return;
        }
        set((s) => ({ ...s, isWaiting: true }));
        run().then(
            (answer) => say({ answer, error: undefined, isWaiting: false }),
            (e: Error) => say({ answer: undefined, error: e.message,
                                isWaiting: false }));
    }, [key]);
    return state;
}

export const useAnswer = <T>(name: string, text: string | null) =>
    useAsked<T>(text === null ? null : `${name}?${text}`,
                () => ask<T>(name, text ?? ""));

export const query = (...parts: string[]) =>
    parts.filter((p) => p !== "").join("&");
