/* flame_paint.ts -- boxes on a canvas: some 20,000 in a few milliseconds */

import type { Forest } from "./forest";
import type { Model, Part } from "./flame_model";
import { forestOf } from "./flame_model";
import { cutTo } from "./parts";

export const ROW = 20;
const GAP = 1;
const PAD = 5;
const LEAST = 0.6; /* narrower boxes are not drawn */
const FONT = "12px ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans " +
    "Mono', monospace";

export interface Palette {
    text: string;
    faint: string; /* text of boxes that do not match the search */
    focus: string;
    focusText: string;
    match: string;
    matchText: string;
    plain: string; /* boxes that do not match */
    cut: string;
    fill: (forest: Forest, box: number) => string;
}

export interface Paint {
    model: Model;
    palette: Palette;
    matches: Set<string>; /* names of functions */
    isSearching: boolean;
    label: (part: Part, box: number) => string;
}

export class Painter {
    private readonly context: CanvasRenderingContext2D;
    private character = 7.2;

    constructor(private readonly canvas: HTMLCanvasElement) {
        this.context = canvas.getContext("2d", { alpha: true }) as
            CanvasRenderingContext2D;
    }

    resize(width: number, height: number) {
        const ratio = globalThis.devicePixelRatio || 1;
        const wide = Math.max(1, Math.round(width * ratio));
        const high = Math.max(1, Math.round(height * ratio));
        if (this.canvas.width === wide && this.canvas.height === high) return;
        this.canvas.width = wide;
        this.canvas.height = high;
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
        this.context.font = FONT;
        this.context.textBaseline = "middle";
        this.character = this.context.measureText("mmmmmmmmmm").width / 10;
    }

    /* The rows that are in sight, the first of them scrolled by `top`. */
    paint(p: Paint, width: number, height: number, top: number) {
        this.context.clearRect(0, 0, width, height);
        const first = Math.max(0, Math.floor(top / ROW));
        const last = Math.min(p.model.rows.length,
                              Math.ceil((top + height) / ROW));
        for (let i = first; i < last; i++)
            this.row(p, i, i * ROW - top, width);
    }

    private row(p: Paint, i: number, y: number, width: number) {
        const row = p.model.rows[i];
        if (!row) return;
        const forest = forestOf(p.model, row.part);
        if (!forest) {
            this.box(0, y, width, p.palette.focus, p.palette.focusText,
                     p.label("focus", row.boxes[0] as number));
            return;
        }
        for (const box of row.boxes) {
            const x = (forest.x0[box] as number) * width;
            const w = (forest.x1[box] as number) * width - x;
            if (w >= LEAST) this.node(p, forest, row.part, box, x, y, w);
        }
    }

    private node(p: Paint, forest: Forest, part: Part, box: number, x: number,
                 y: number, w: number) {
        const fn = forest.fn[box] as number;
        const { palette } = p;
        if (fn < 0) {
            this.cut(palette, x, y, w);
            return;
        }
        const isMatch = p.isSearching &&
            p.matches.has(forest.functions[fn]?.name as string);
        const fill = isMatch ? palette.match
            : p.isSearching ? palette.plain : palette.fill(forest, box);
        const text = isMatch ? palette.matchText
            : p.isSearching ? palette.faint : palette.text;
        const room = w - GAP - 2 * PAD;
        this.box(x, y, w, fill, text,
                 room > 3 * this.character ? p.label(part, box) : "");
    }

    private box(x: number, y: number, w: number, fill: string, text: string,
                label: string) {
        const c = this.context;
        const wide = Math.max(w - (w > 3 ? GAP : 0), LEAST);
        c.fillStyle = fill;
        c.fillRect(x, y, wide, ROW - GAP);
        if (label === "") return;
        const fits = Math.floor((wide - 2 * PAD) / this.character);
        if (fits < 3) return;
        c.fillStyle = text;
        c.fillText(cutTo(label, fits), x + PAD, y + (ROW - GAP) / 2 + 1);
    }

    /* Oblique lines: there is something here, too small to show. */
    private cut(palette: Palette, x: number, y: number, w: number) {
        const c = this.context;
        const wide = Math.max(w - GAP, LEAST);
        c.save();
        c.beginPath();
        c.rect(x, y, wide, ROW - GAP);
        c.clip();
        c.strokeStyle = palette.cut;
        c.lineWidth = 1;
        c.beginPath();
        for (let at = x - ROW; at < x + wide; at += 6) {
            c.moveTo(at, y + ROW);
            c.lineTo(at + ROW, y);
        }
        c.stroke();
        c.restore();
    }
}
