/* help.tsx -- what the keys do */

import { useEffect, useRef } from "preact/hooks";
import { ACTIONS } from "./selection";
import { VIEWS } from "./state";
import { store } from "./store";

export const helpIsOpen = store(false);

const KEYS: [string, [string, string][]][] = [
    ["Everywhere", [
        ["?", "this help"],
        ["1 … 9, 0", VIEWS.map(([, name]) => name).join(", ")],
        ["/", "search for functions, files, modules: a part, =name, ~regex; " +
            "file: and module: before it. Case counts once a capital is typed"],
        ["t", "go to the time line"],
        ["g", "go to the graph or the table"],
        ["e", "open or close the filter"],
        ["p", "next preset"],
        ["Backspace", "back"],
    ]],
    ["Time line", [
        ["← →", "move; with Page keys by a tenth; Home, End"],
        ["Shift ← →", "stretch a range"],
        ["Enter", "filter by the range, or by what is live at the moment"],
        ["Esc", "let the range go"],
    ]],
    ["Flame graph", [
        ["← → ↑ ↓, h j k l", "move"],
        ["Enter", "focus"],
        ["[ ]", "let go of the outermost, the innermost function"],
        ["Esc, Backspace", "back"],
    ]],
    ["Graph", [
        ["← → ↑ ↓, h j k l", "move"],
        ["Enter", "focus: stacks with that function"],
        ["+ - 0", "zoom, fit; the wheel with Ctrl, too"],
    ]],
    ["Tables", [
        ["↑ ↓, j k", "move; Page keys, Home, End"],
        ["→ ←, h l", "unfold and fold a row of the tree"],
        ["Enter", "focus, or open"],
        ["Y", "copy the table, as tab-separated values"],
    ]],
    ["The function that was picked", ACTIONS.map((a): [string, string] =>
        [a.key, `${a.label}: ${a.title}`])],
];

export function Help() {
    const isOpen = helpIsOpen.use();
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        if (isOpen) dialog.current?.showModal();
        else dialog.current?.close();
    }, [isOpen]);
    return <dialog ref={dialog} class="help" aria-labelledby="help-title"
        onClose={() => helpIsOpen.set(false)}
        onClick={(e) => {
            if (e.target === dialog.current) helpIsOpen.set(false);
        }}>
        <header><h2 id="help-title">Keys</h2>
            <button type="button" class="plain" aria-label="Close"
                onClick={() => helpIsOpen.set(false)}>×</button></header>
        <div class="help-groups">{KEYS.map(([title, keys]) =>
            <section key={title} aria-label={title}>
                <h3>{title}</h3>
                <dl>{keys.map(([key, what]) => <div key={key}>
                    <dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
            </section>)}</div>
    </dialog>;
}
