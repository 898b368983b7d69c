/* app.tsx -- the page: what was recorded, when, which part of it, and a view */

import { useEffect, useLayoutEffect, useRef, useState } from
    "preact/hooks";
import type { Info, TraceInfo } from "./answers";
import { useAnswer } from "./ask";
import { copied } from "./copy";
import { DiffView } from "./diff";
import { FlameView } from "./flame";
import { FunctionsView } from "./functions";
import { GraphView } from "./graph";
import { HeatView } from "./heat";
import { Help } from "./help";
import { HotView } from "./hot";
import { onKey } from "./keys";
import { LiveBar } from "./live";
import type { More } from "./more";
import { more } from "./more";
import { FunctionName, placeOf } from "./parts";
import { SamplesView } from "./samples";
import { actionsFor, picked } from "./selection";
import { SitesView } from "./sites";
import type { Params } from "./state";
import { VIEWS, go, linkTo, one, useParams, viewOf } from "./state";
import { Tools, Top } from "./top";
import { TraceView } from "./trace";
import { TreeView } from "./tree";

/* A search begins when nobody types for so long. */
const TYPING_MS = 150;

function Tabs(props: { params: Params; view: string;
                        list: readonly (readonly [string, string, string])[] }) {
    const { view } = props;
    const q = one(props.params, "q") ?? "";
    const [text, set] = useState(q);
    useEffect(() => set(q), [q]);
    useEffect(() => {
        if (text === q) return;
        const timer = setTimeout(() =>
            go({ q: text, offset: undefined }, "replace"), TYPING_MS);
        return () => clearTimeout(timer);
    }, [text]);
    /* Where the tabs do not fit, the list alone is moved, never the page. */
    const list = useRef<HTMLUListElement>(null);
    useLayoutEffect(() => {
        const ul = list.current;
        const tab = ul?.querySelector<HTMLElement>("[aria-current]");
        if (!ul || !tab) return;
        const left = tab.offsetLeft - ul.offsetLeft;
        ul.scrollLeft = Math.min(left, Math.max(ul.scrollLeft,
            left + tab.offsetWidth - ul.clientWidth));
    }, [view]);
    return <nav class="tabs" aria-label="Views"><ul ref={list}>
        {props.list.map(([name, title, key]) => <li key={name}>
            <a href={linkTo({ view: name })} title={`key ${key}`}
                aria-current={name === view ? "page" : undefined}
                onClick={(e) => {
                    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
                    e.preventDefault();
                    go({ view: name });
                }}>{title}</a></li>)}
    </ul>
    <input type="search" id="search" placeholder="Search  /"
        aria-label="Search functions, files, modules" spellcheck={false}
        title={"part of a name, =name or ~regex; after file: or module: of " +
            "those. Case counts once a capital is typed."}
        value={text}
        onInput={(e) => set(e.currentTarget.value)}
        onKeyDown={(e) => {
            if (e.key === "Enter") e.currentTarget.blur();
        }} />
    </nav>;
}

function View(props: { params: Params; info: Info; trace: TraceInfo }) {
    switch (viewOf(props.params)) {
    case "sites": return <SitesView {...props} />;
    case "tree": return <TreeView {...props} />;
    case "graph": return <GraphView {...props} />;
    case "functions": return <FunctionsView {...props} />;
    case "hot": return <HotView {...props} />;
    case "heat": return <HeatView {...props} />;
    case "samples": return <SamplesView {...props} />;
    case "diff": return <DiffView {...props} />;
    case "trace": return <TraceView {...props} />;
    default: return <FlameView {...props} />;
    }
}

/* Name, title and key of each. */
const tabsOf = (trace: TraceInfo | undefined, extra: More | undefined) => [
    ...(trace ? VIEWS.map(([name, title], i) =>
        [name, title, String((i + 1) % 10)] as const) : []),
    ...(extra ? [[extra.name, extra.title, "H"] as const] : []),
];

/* What can be done about the function that was picked. */
function PickedBar() {
    const p = picked.use();
    if (!p) return null;
    return <aside class="picked-bar" aria-label="Picked function">
        <p><FunctionName fn={p.fn} />{" "}
            <span class="dim">{placeOf(p.fn, p.line)}</span></p>
        <div>{actionsFor(p).map((a) => <button type="button" key={a.key}
            title={`${a.title} ( ${a.key} )`} onClick={() => a.run(p)}>
            {a.label} <kbd aria-hidden="true">{a.key}</kbd></button>)}
            <button type="button" class="plain" aria-label="Let it go"
                onClick={() => picked.set(undefined)}>×</button></div>
    </aside>;
}

function Copied() {
    const what = copied.use();
    return <p class={what ? "tip copied" : "hidden"} role="status">{what}</p>;
}

export function App() {
    const params = useParams();
    const { answer: info, error } = useAnswer<Info>("info", "");
    const extra = more.use();
    const trace = info?.traces[Number(one(params, "t") ?? "0")] ??
        info?.traces[0];
    useEffect(() => {
        const listener = (e: KeyboardEvent) => onKey(e, trace);
        addEventListener("keydown", listener);
        return () => removeEventListener("keydown", listener);
    }, [trace]);
    if (error !== undefined && !extra)
        return <><LiveBar />
            <main><p class="error" role="alert">{error}</p></main></>;
    if (!trace && !(extra && (info || error)))
        return <main><p class="wait" role="status">Reading…</p></main>;
    const isExtra = extra && (!trace || one(params, "view") === extra.name);
    return <>
        <nav aria-label="Skip"><a class="skip" href="#main" onClick={(e) => {
            e.preventDefault();
            document.getElementById("main")?.focus();
        }}>Skip to the view</a></nav>
        {info && trace ? <Top params={params} info={info} trace={trace} />
            : <header class="line"><h1>Heap snapshot</h1><Tools isLine={true} />
            </header>}
        <LiveBar />
        <Tabs params={params} view={isExtra ? extra.name : viewOf(params)}
            list={tabsOf(trace, extra)} />
        <main id="main" tabIndex={-1}>
            {isExtra ? <extra.View params={params} />
                : info && trace &&
                    <View params={params} info={info} trace={trace} />}
        </main>
        <PickedBar />
        <Copied />
        <Help />
    </>;
}
