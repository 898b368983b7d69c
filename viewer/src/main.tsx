/* main.tsx -- where the page begins
 *
 * An exported page shows a summary until the engine it carries has started,
 * and goes on showing it where that fails. */

import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./app.css";
import { App } from "./app";
import { setEngine } from "./ask";
import { carriedEngine, isCarried } from "./engine";
import { begin as beginLive } from "./live";
import * as shared from "./shared";
import { begin } from "./state";

/* For heap.js, which is loaded behind this file, if it is. */
Object.assign(globalThis, { aliquot: shared });

const start = () => {
    const place = document.getElementById("app") as HTMLElement;
    begin(place.dataset["filter"]);
    render(<App />, place);
    beginLive();
};

function showApp() {
    document.getElementById("summary")?.remove();
    const style = (id: string) =>
        document.getElementById(id) as HTMLStyleElement | null;
    style("summary-style")?.remove();
    style("app-style")?.removeAttribute("media");
}

function sayWhy(e: Error) {
    const p = document.createElement("p");
    p.setAttribute("role", "alert");
    p.textContent = "The interactive page could not start (" + e.message +
        "); this is its summary.";
    document.getElementById("summary")?.prepend(p);
}

if (isCarried())
    carriedEngine().then((engine) => {
        setEngine(engine);
        showApp();
        start();
    }).catch(sayWhy);
else
    start();
