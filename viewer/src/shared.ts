/* shared.ts -- what heap.js takes from app.js: its imports are these, and no
 * others (build.mjs) */

export { Fragment, jsx, jsxs } from "preact/jsx-runtime";
export { useEffect, useMemo } from "preact/hooks";
export { useAnswer } from "./ask";
export { found, searchQuery } from "./find";
export { FlameChart } from "./flame_chart";
export { model } from "./flame_model";
export { plant } from "./forest";
export { bytesText, clockText, countText, percentText } from "./format";
export { more } from "./more";
export { Cell, Choice, Over, Region, Share, Waiting, clean, errorOf } from "./parts";
export { Rows } from "./rows";
export { all, back, go, one } from "./state";
