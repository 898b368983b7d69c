/* tip.tsx -- what is said beside the pointer */

import { useLayoutEffect, useRef } from "preact/hooks";

/* Beside the pointer, and inside the window whatever it says. */
export function Tip(props: { lines: string[]; x: number; y: number }) {
    const ref = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        const tip = ref.current;
        if (!tip) return;
        const { width, height } = tip.getBoundingClientRect();
        const fits = (at: number, size: number, room: number) =>
            at + 14 + size < room ? at + 14 : Math.max(4, at - 10 - size);
        tip.style.left = `${Math.max(4, Math.min(
            fits(props.x, width, innerWidth), innerWidth - width - 4))}px`;
        tip.style.top = `${fits(props.y, height, innerHeight)}px`;
    });
    return <div class="tip" ref={ref} aria-hidden="true">
        {props.lines.map((line, i) =>
            <div key={i} class={i === 0 ? "tip-name code" : ""}>{line}</div>)}
    </div>;
}
