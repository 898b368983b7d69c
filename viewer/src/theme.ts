/* theme.ts -- by day, by night, or as the system says
 *
 * The choice is kept where the browser lets a page keep something, which a
 * file opened from disk may not. */

import { useEffect } from "preact/hooks";
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
const system = store<Theme>(night.matches ? "dark" : "light");
night.addEventListener("change", () =>
    system.set(night.matches ? "dark" : "light"));

export function choose(theme: Choice) {
    choice.set(theme);
    try {
        if (theme === "auto") localStorage.removeItem(KEY);
        else localStorage.setItem(KEY, theme);
    } catch {
        /* then it lasts as long as the page does */
    }
}

export function useTheme(): Theme {
    const wish = choice.use();
    const said = system.use();
    const theme = wish === "auto" ? said : wish;
    useEffect(() => {
        document.documentElement.dataset["theme"] = theme;
    }, [theme]);
    return theme;
}
