/* build.mjs -- dist/ of src/: the same bytes wherever it runs.
 *
 * What is bundled keeps its licence: the texts stand at the head of app.js,
 * which both `aliquot view` and exported pages carry. */
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const bundled = ["preact", "uplot"];

function licence(name) {
    const dir = `node_modules/${name}`;
    const { version } = JSON.parse(readFileSync(`${dir}/package.json`, "utf8"));
    const text = readFileSync(`${dir}/LICENSE`, "utf8").trim();
    return `${name} ${version}\n\n${text}`;
}

const notice = "/*! Aliquot's viewer; within it:\n\n" +
    bundled.map(licence).join("\n\n") + "\n*/";
/* The two files go together wherever they go. */
const styleNotice = "/*! Aliquot's viewer; uPlot's style is within it: its " +
    "licence stands at the head of app.js */";

/* uPlot's kinds of lines stand in one object, so that none would be left out;
 * the page draws steps. */
const unused = /^\s*\(paths\.(bars|spline) +=.*\n/gm;
const stepsAlone = {
    name: "steps-alone",
    setup({ onLoad }) {
        onLoad({ filter: /uPlot\.esm\.js$/ }, ({ path }) => {
            const text = readFileSync(path, "utf8");
            if (text.match(unused)?.length !== 2)
                throw new Error("uPlot's lines stand elsewhere now: build.mjs");
            return { contents: text.replace(unused, ""), loader: "js" };
        });
    },
};

/* heap.js takes what it imports from app.js (src/shared.ts). */
const fromApp = {
    name: "from-app",
    setup({ onLoad, onResolve }) {
        onResolve({ filter: /^\.\/shared$|^preact\// }, () =>
            ({ path: "app", namespace: "app" }));
        onLoad({ filter: /./, namespace: "app" }, () =>
            ({ contents: "module.exports = globalThis.aliquot", loader: "js" }));
    },
};

const common = {
    outdir: "dist",
    bundle: true,
    minify: true,
    format: "iife",
    target: ["chrome110", "firefox115", "safari16.4"],
    charset: "utf8",
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    logLevel: "warning",
};
await build({ ...common, entryPoints: { app: "src/main.tsx" },
              banner: { js: notice, css: styleNotice }, plugins: [stepsAlone] });
await build({ ...common, entryPoints: { heap: "src/heap.tsx" },
              banner: { js: "/*! Aliquot's viewer: heap snapshots */" },
              plugins: [fromApp] });
writeFileSync("dist/index.html", readFileSync("src/index.html"));

/* For pages in one file: what must not stand in them, and their policy. */
for (const name of ["app.js", "app.css"]) {
    const text = readFileSync(`dist/${name}`, "utf8");
    if (/<\/(script|style)|<!--|\r|\0/i.test(text))
        throw new Error(`${name} would end the element it stands in`);
    writeFileSync(`dist/${name}.sha256`,
                  createHash("sha256").update(text).digest("base64"));
}
