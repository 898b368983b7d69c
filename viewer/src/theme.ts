/* theme.ts -- by day, by night, or as the system says
 *
 * The document has its theme before anything is drawn in it: canvases read the
 * colours of the style sheet.
 *
 * The choice is kept where the browser lets a page keep something, which a
 * file opened from disk may not. */

import type { Theme } from "./colours";
import { store } from "./store";

export type Choice = "auto" | Theme;

const KEY = "aliquot-theme";
const night = matchMedia("(prefers-color-scheme: dark)");

function kept(): Choice {
    try {
        const choice = localStorage.getItem(KEY);
        return choice === "light" || choice === "dark" ? choice : "auto";
    } catch {
        return "auto";
    }
}

export const choice = store<Choice>(kept());

const wanted = (): Theme => {
    const wish = choice.get();
    return wish !== "auto" ? wish : night.matches ? "dark" : "light";
};
const theme = store<Theme>(wanted());

function apply() {
    document.documentElement.dataset["theme"] = wanted();
    theme.set(wanted());
}

apply();
night.addEventListener("change", apply);

export function choose(wish: Choice) {
    choice.set(wish);
    apply();
    try {
        if (wish === "auto") localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, wish);
    } catch {
        /* then it lasts as long as the page does */
    }
}

export const useTheme = theme.use;
