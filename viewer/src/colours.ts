/* colours.ts -- what the canvas is painted with, by day and by night
 *
 * A module (or, where there is one module only, a file) has a hue, a function
 * a shade of it: what belongs together looks alike.  A difference goes from
 * blue (less) over grey to orange (more), the further the more certain. */

import type { Forest } from "./forest";
import type { Palette } from "./flame_paint";

/* Apart enough from each other, and none louder than the rest; what comes
 * after them is grey. */
const HUES = [212, 32, 158, 268, 350, 186, 52, 300, 98];
const GREY = -1;
const BY_SELF = 5; /* hues that go to what allocates most itself */

function hash(text: string): number {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++)
        h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return h >>> 0;
}

export type Theme = "light" | "dark";

function shade(hue: number, seed: number, theme: Theme): string {
    const light = theme === "light"
        ? 80 + (seed % 5) * 1.8 : 27 + (seed % 5) * 1.8;
    const chroma = hue === GREY ? 8
        : theme === "light" ? 46 + (seed % 3) * 6 : 30 + (seed % 3) * 4;
    if (hue === GREY) hue = 215;
    return `hsl(${hue} ${chroma}% ${light.toFixed(1)}%)`;
}

const lastPart = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/* Hues for what allocates most itself, then for what has most below it: the
 * largest never share one. */
function huesOf(forest: Forest): number[] {
    const modules = new Set(forest.functions.map((f) => f.module));
    const owner = modules.size > 2
        ? (i: number) => forest.functions[i]?.module ?? ""
        : (i: number) => lastPart(forest.functions[i]?.file || "") ||
            lastPart(forest.functions[i]?.module ?? "");
    const self = new Map<string, number>();
    const whole = new Map<string, number>();
    const add = (to: Map<string, number>, o: string, x: number) =>
        to.set(o, (to.get(o) ?? 0) + x);
    for (let i = 1; i < forest.n_nodes; i++) {
        const fn = forest.fn[i] as number;
        if (fn < 0) continue;
        const o = owner(fn);
        const own = !forest.isUp ? forest.self[i] as number
            : forest.depth[i] === 1 ? forest.value[i] as number : 0;
        add(self, o, own);
        add(whole, o, forest.value[i] as number);
    }
    const ranked = (by: Map<string, number>) =>
        [...by].sort((a, b) => b[1] - a[1]).map(([o]) => o);
    const order = new Set([...ranked(self).slice(0, BY_SELF),
                           ...ranked(whole)]);
    const hue = new Map([...order].map((o, i) => [o, HUES[i] ?? GREY]));
    return forest.functions.map((_, i) => hue.get(owner(i)) ?? GREY);
}

/* By whose code it is: far apart for whoever sees few colours, too. */
const ownHues = (forest: Forest): number[] => forest.functions.map((f) =>
    f.whole === "thread" ? GREY : f.library ? 32 : 212);

const fills = new WeakMap<Forest, Map<string, string[]>>();

function byFunction(theme: Theme, colour: Colouring) {
    const key = theme + colour;
    return (forest: Forest, box: number): string => {
        let themes = fills.get(forest);
        if (!themes) fills.set(forest, themes = new Map());
        let list = themes.get(key);
        if (!list) {
            const hues = (colour === "own" ? ownHues : huesOf)(forest);
            list = forest.functions.map((f, i) =>
                shade(hues[i] as number, hash(f.name), theme));
            themes.set(key, list);
        }
        return list[forest.fn[box] as number] ?? "transparent";
    };
}

/* Bands of the time line: neighbours differ in every kind of colour vision, and
 * each differs from the ground. The last is for the others. */
export const BANDS: Record<Theme, readonly string[]> = {
    light: ["#9981ee", "#9314b5", "#552631", "#62e31e", "#5b78b0", "#db933b",
            "#82b5cb", "#e01b21", "#363069", "#42a28a", "#c8ccd0"],
    dark: ["#2a48df", "#df763e", "#f3edaf", "#cc8db5", "#b02a14", "#aeb8f4",
           "#731a94", "#9ff3f4", "#4484ea", "#d3c83b", "#565c61"],
};

/* How many standard errors apart the two sides are; 0 where nothing says. */
export function zOf(delta: number, error: number): number {
    if (delta === 0) return 0;
    return error > 0 ? delta / error : Math.sign(delta) * 99;
}

/* Below two standard errors a difference is chance until shown otherwise. */
export function diffColour(z: number, theme: Theme): string {
    const strength = Math.max(0, Math.min(1, (Math.abs(z) - 1) / 6));
    const hue = z > 0 ? 22 : 212;
    return theme === "light"
        ? `hsl(${hue} ${Math.round(12 + 76 * strength)}% ` +
            `${(88 - 18 * strength).toFixed(1)}%)`
        : `hsl(${hue} ${Math.round(8 + 52 * strength)}% ` +
            `${(26 + 14 * strength).toFixed(1)}%)`;
}

function byDifference(theme: Theme) {
    return (f: Forest, box: number): string => {
        const a = f.value[box] as number;
        const b = f.bValue?.[box] ?? 0;
        const error = Math.hypot(f.error[box] as number, f.bError?.[box] ?? 0);
        return diffColour(zOf(b - a, error), theme);
    };
}

/* By module or file, by whose code it is, by difference. */
export type Colouring = "part" | "own" | "diff";

export function palette(theme: Theme, colour: Colouring): Palette {
    const fill = colour === "diff" ? byDifference(theme)
        : byFunction(theme, colour);
    return theme === "light"
        ? { fill, text: "#16191d", faint: "#5c646e", focus: "#cdd5dd",
            focusText: "#16191d", match: "#f2b8d9", matchText: "#3a0a28",
            plain: "#eceef1", cut: "#b4bac2" }
        : { fill, text: "#f1f3f5", faint: "#98a1ac", focus: "#3b444f",
            focusText: "#f1f3f5", match: "#8f2f6b", matchText: "#ffffff",
            plain: "#262b32", cut: "#545c66" };
}
