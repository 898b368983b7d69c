/* find.ts -- where a search has matched, for marks in names and in pictures
 *
 * What passes is the engine's to say; marks follow its rule (view/word.h). */

import type { Func } from "./answers";

export type Of = "any" | "function" | "file" | "module";
type Span = readonly [number, number];

export interface Search {
    of: Of;
    word: string; /* as a filter takes it */
    spanIn: (text: string) => Span | undefined;
}

const lower = (text: string) =>
    text.replace(/[A-Z]+/g, (s) => s.toLowerCase());

/* Capitals say that case counts, and so do the classes of case. */
const isCased = (text: string) => /[A-Z]|\[:(upper|lower):\]/.test(text);

const CLASSES: Record<string, string> = {
    alpha: "a-zA-Z", digit: "0-9", alnum: "a-zA-Z0-9", upper: "A-Z",
    lower: "a-z", space: "\\s", blank: " \\t", xdigit: "0-9a-fA-F",
    punct: "!-\\/:-@\\[-`{-~", cntrl: "\\x00-\\x1f\\x7f",
    print: "\\x20-\\x7e", graph: "\\x21-\\x7e",
};

/* An expression of POSIX as one of this language: brackets are others. */
const translated = (text: string) => text.replace(
    /\\.|\[(\^?)(\]?(?:\[:[a-z]+:\]|[^\]])*)\]/g,
    (all: string, not?: string, inner?: string) => inner === undefined ? all
        : `[${not}${inner.replace(/\[:([a-z]+):\]|[\\[\]]/g, (c, name) =>
            name ? CLASSES[name] ?? "" : "\\" + c)}]`)
    .replace(/\{,/g, "{0,");

function regexSpan(source: string): (text: string) => Span | undefined {
    try {
        const regex = new RegExp(translated(source));
        return (text) => {
            const m = regex.exec(text);
            return m ? [m.index, m.index + m[0].length] : undefined;
        };
    } catch {
        return () => undefined; /* the engine says what is wrong */
    }
}

function spanOf(word: string): (text: string) => Span | undefined {
    if (word === "") return () => undefined;
    if (word.startsWith("="))
        return (text) => text === word.slice(1) ? [0, text.length] : undefined;
    const folded = isCased(word) ? (text: string) => text : lower;
    if (word.startsWith("~")) {
        const find = regexSpan(word.slice(1));
        return (text) => find(folded(text));
    }
    return (text) => {
        const at = folded(text).indexOf(word);
        return at < 0 ? undefined : [at, at + word.length];
    };
}

let last: [string, Search] | undefined;

export function searchOf(q: string): Search {
    if (last?.[0] === q) return last[1];
    const m = /^(function|file|module):(?!:)(.*)$/.exec(q);
    const word = m?.[2] ?? q;
    const search: Search = { of: (m?.[1] ?? "any") as Of, word,
                             spanIn: spanOf(word) };
    last = [q, search];
    return search;
}

/* The key of a question; what is not typed to its end asks for nothing. */
export function searchQuery(q: string): string {
    const { word } = searchOf(q);
    return word === "" || word === "=" || word === "~" ? ""
        : `q=${encodeURIComponent(q)}`;
}

/* Names of the functions that a search of names, files or modules means;
 * pictures show functions, so they are searched where nothing else is said. */
export function found(functions: Func[], q: string): Set<string> {
    const { of, spanIn } = searchOf(q);
    const key = of === "file" || of === "module" ? of : "name";
    return new Set(functions.filter((f) => spanIn(f[key])).map((f) => f.name));
}
