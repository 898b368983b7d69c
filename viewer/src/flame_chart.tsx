/* flame_chart.tsx -- the canvas, and how it is used by pointer and by keys
 *
 * The canvas is as high as what is in sight and stays there while the rows
 * move under it, so that deep stacks cost no more than shallow ones.  What the
 * pointer is on, and what the keys chose, is framed by boxes above it: moving
 * about paints nothing anew. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from
    "preact/hooks";
import type { TargetedKeyboardEvent } from "preact";
import type { Func } from "./answers";
import type { Colouring } from "./colours";
import { palette } from "./colours";
import type { Model, Move, Part, Spot } from "./flame_model";
import { boxAt, extent, forestOf, fragmentOf, hit, step } from "./flame_model";
import { Painter, ROW } from "./flame_paint";
import { nameOf, shortOf } from "./parts";
import { useTheme } from "./theme";
import { Tip } from "./tip";

export interface ChartProps {
    model: Model;
    colour: Colouring;
    label: string;
    matches: Set<string>;
    isSearching: boolean;
    boxLabel: (part: Part, box: number) => string;
    describe: (at: { part: Part; box: number },
               name: (f: Func) => string) => string[];
    onFocus: (fragment: number[]) => void;
    onPick: (at: { part: Part; box: number }, spot: Spot) => void;
    onBack: () => void;
}

const MOVES: Record<string, Move> = {
    ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right",
    k: "up", j: "down", h: "left", l: "right",
};

function useSize(ref: { current: HTMLElement | null }) {
    const [size, set] = useState({ width: 0, height: 0 });
    useLayoutEffect(() => {
        const element = ref.current;
        if (!element) return;
        const measure = () => set({ width: element.clientWidth,
                                    height: element.clientHeight });
        const observer = new ResizeObserver(measure);
        observer.observe(element);
        measure();
        return () => observer.disconnect();
    }, [ref]);
    return size;
}

function Frame(props: { model: Model; spot: Spot; width: number;
                        kind: string }) {
    const [x0, x1] = extent(props.model, props.spot);
    return <div class={"frame " + props.kind} style={{
        left: `${x0 * props.width}px`,
        width: `${Math.max((x1 - x0) * props.width - 1, 2)}px`,
        top: `${props.spot.row * ROW}px`,
        height: `${ROW - 1}px`,
    }} />;
}

const spotExists = (m: Model, s: Spot | undefined): s is Spot =>
    s !== undefined && boxAt(m, s) !== undefined;

export function FlameChart(props: ChartProps) {
    const { model } = props;
    const theme = useTheme();
    const scroller = useRef<HTMLDivElement>(null);
    const canvas = useRef<HTMLCanvasElement>(null);
    const painter = useRef<Painter | undefined>(undefined);
    const [chosen, choose] = useState<Spot>();
    const [over, setOver] = useState<{ spot: Spot; x: number; y: number }>();
    const { width, height } = useSize(scroller);
    const colours = useMemo(() => palette(theme, props.colour),
                            [theme, props.colour]);

    const paint = () => {
        if (!canvas.current || !scroller.current || width === 0) return;
        painter.current ??= new Painter(canvas.current);
        painter.current.resize(width, height);
        painter.current.paint({
            model, palette: colours, matches: props.matches,
            isSearching: props.isSearching, label: props.boxLabel,
        }, width, height, scroller.current.scrollTop);
    };
    useLayoutEffect(paint, [model, colours, props.matches, props.isSearching,
                            width, height]);

    /* The middle comes into sight; what was chosen in another picture goes. */
    useEffect(() => {
        choose(undefined);
        setOver(undefined);
        const s = scroller.current;
        if (!s) return;
        const middle = model.middle * ROW;
        const rows = model.rows.length;
        const wanted = model.middle === 0 ? 0
            : model.middle === rows - 1 ? rows * ROW
            : middle - s.clientHeight / 2;
        s.scrollTop = wanted;
        paint();
    }, [model]);

    const spotAt = (e: MouseEvent): Spot | undefined => {
        const s = scroller.current;
        if (!s) return undefined;
        const at = s.getBoundingClientRect();
        const row = Math.floor((e.clientY - at.top + s.scrollTop) / ROW);
        const place = hit(model, row, (e.clientX - at.left) / width);
        return place === undefined ? undefined : { row, place };
    };

    const into = (spot: Spot) => {
        const s = scroller.current;
        const y = spot.row * ROW;
        if (!s) return;
        if (y < s.scrollTop) s.scrollTop = y;
        else if (y + ROW > s.scrollTop + s.clientHeight)
            s.scrollTop = y + ROW - s.clientHeight;
    };

    const pickSpot = (spot: Spot) => {
        const at = boxAt(model, spot);
        if (at) props.onPick(at, spot);
    };

    const enter = (spot: Spot) => {
        const at = boxAt(model, spot);
        const forest = at && forestOf(model, at.part);
        if (!at || (forest && (forest.fn[at.box] as number) < 0)) return;
        const fragment = fragmentOf(model, spot);
        pickSpot(spot);
        if (fragment) props.onFocus(fragment);
    };

    const onKey = (e: TargetedKeyboardEvent<HTMLDivElement>) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const move = MOVES[e.key];
        const spot = spotExists(model, chosen) ? chosen
            : { row: model.middle, place: 0 };
        if (move) {
            const next = spotExists(model, chosen)
                ? step(model, spot, move) : spot;
            choose(next);
            into(next);
            pickSpot(next);
        } else if (e.key === "Enter") {
            enter(spot);
        } else if (e.key === "Escape" || e.key === "Backspace") {
            props.onBack();
        } else {
            return;
        }
        e.preventDefault();
        e.stopPropagation();
    };

    const shown = over ? over.spot : chosen;
    const at = spotExists(model, shown) ? boxAt(model, shown) : undefined;
    const words = at ? props.describe(at, shortOf) : undefined;
    return <>
        <div class="flame" ref={scroller} tabIndex={0} role="application"
            aria-roledescription="flame graph" aria-label={props.label}
            aria-describedby="flame-said" onKeyDown={onKey}
            onScroll={paint}
            onMouseLeave={() => setOver(undefined)}
            onMouseMove={(e) => {
                const spot = spotAt(e);
                setOver(spot && { spot, x: e.clientX, y: e.clientY });
            }}
            onClick={(e) => {
                const spot = spotAt(e);
                if (spot) enter(spot);
            }}>
            <div class="flame-rows" style={{
                height: `${model.rows.length * ROW}px` }}>
                <canvas ref={canvas} />
                {over && spotExists(model, over.spot) &&
                    <Frame model={model} spot={over.spot} width={width}
                        kind="over" />}
                {spotExists(model, chosen) &&
                    <Frame model={model} spot={chosen} width={width}
                        kind="chosen" />}
            </div>
        </div>
        <p class="said" id="flame-said" aria-live="polite">
            {words ? words.join(" · ")
                : "Click, or arrows and Enter: focus. Esc: back."}
        </p>
        {over && at && <Tip lines={props.describe(at, nameOf)}
            x={over.x} y={over.y} />}
    </>;
}
