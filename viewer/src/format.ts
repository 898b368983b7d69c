/* format.ts -- figures as text, in the form of `aliquot report`, and back */

export interface Figure {
    number: string;
    unit: string;
}

/* Three significant digits, none of them for show. */
function digits(x: number): number {
    if (x === Math.floor(x)) return 0;
    if (x < 9.995) return 2;
    return x < 99.95 ? 1 : 0;
}

function scaled(x: number, step: number, from: number, units: string[]) {
    let i = 0;
    x /= step;
    while (x >= from && i + 1 < units.length) {
        x /= step;
        i++;
    }
    return { number: x.toFixed(digits(x)), unit: units[i] as string };
}

export function bytesFigure(bytes: number): Figure {
    const x = Math.abs(bytes);
    const f = x < 1023.5
        ? { number: x.toFixed(0), unit: "B" }
        : scaled(x, 1024, 1023.5, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
    return bytes < 0 && f.number !== "0" ? { ...f, number: "−" + f.number } : f;
}

export function countFigure(count: number): Figure {
    const x = Math.abs(count);
    const f = x < 9999.5
        ? { number: x.toFixed(0), unit: "" }
        : scaled(x, 1000, 999.5, ["k", "M", "G", "T", "P", "E"]);
    return count < 0 && f.number !== "0" ? { ...f, number: "−" + f.number } : f;
}

const joined = (f: Figure, space: string) =>
    f.unit === "" ? f.number : f.number + space + f.unit;

export const bytesText = (x: number) => joined(bytesFigure(x), " ");
export const countText = (x: number) => joined(countFigure(x), "");

/* Bytes a minute; the error has their unit, and their digits. */
export function growthText(bytes: number, error?: number): string {
    const f = bytesFigure(bytes);
    const text = `${f.number} ${f.unit}/min`;
    if (error === undefined) return text;
    for (let x = bytes; x >= 1023.5; x /= 1024) error /= 1024;
    return `${text} ± ${error.toFixed(f.number.split(".")[1]?.length ?? 0)}`;
}

export function durationText(us: number): string {
    const s = us / 1e6;
    const whole = Math.round(s);
    const two = (x: number) => String(Math.floor(x)).padStart(2, "0");
    if (us < 999.5) return `${Math.max(us, 0).toFixed(0)} µs`;
    if (us < 999.5e3) return `${(us / 1e3).toFixed(digits(us / 1e3))} ms`;
    if (s < 59.95) return `${s.toFixed(digits(s))} s`;
    if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
    if (whole < 86400)
        return `${Math.floor(whole / 3600)}h${two((whole / 60) % 60)}m`;
    return `${Math.floor(whole / 86400)}d${two((whole / 3600) % 24)}h`;
}

/* A moment since the start: enough digits to tell it from its neighbours a
 * step away, none of them for show. */
export function momentText(us: number, step_us: number): string {
    const places = Math.min(6, Math.max(0, Math.ceil(6 - Math.log10(
        Math.max(step_us, 1)))));
    const fixed = (us / 1e6).toFixed(places);
    return `${places > 0 ? fixed.replace(/\.?0+$/, "") : fixed} s`;
}

export function percentText(share: number): string {
    const x = share * 100;
    if (!Number.isFinite(x)) return "–";
    return `${x.toFixed(Math.abs(x) < 99.95 ? 1 : 0)}%`.replace("-", "−");
}

export function clockText(us: number): string {
    const at = new Date(us / 1000);
    if (Number.isNaN(at.getTime())) return "";
    return at.toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

/* ---- what people write ------------------------------------------------ */

const SIZES: Record<string, number> = {
    "": 1, b: 1,
    k: 2 ** 10, kb: 2 ** 10, kib: 2 ** 10,
    m: 2 ** 20, mb: 2 ** 20, mib: 2 ** 20,
    g: 2 ** 30, gb: 2 ** 30, gib: 2 ** 30,
    t: 2 ** 40, tb: 2 ** 40, tib: 2 ** 40,
};

const TIMES_US: Record<string, number> = {
    us: 1, "µs": 1, ms: 1e3, s: 1e6, "": 1e6, m: 6e7, min: 6e7, h: 3.6e9,
};

function quantity(text: string, units: Record<string, number>) {
    const m = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zµ]*)\s*$/i.exec(text);
    const unit = m && units[(m[2] as string).toLowerCase()];
    return m && unit !== undefined && unit !== null
        ? Math.round(Number(m[1]) * unit) : undefined;
}

/* Bytes of "64", "4k", "1.5 MiB"; undefined of what is no size. */
export const parseSize = (text: string) => quantity(text, SIZES);

/* Microseconds of "1.5s", "200 ms", "2m" or "1m30s"; a bare number is seconds;
 * undefined of what is no time. */
export function parseTime(text: string): number | undefined {
    const parts = text.trim().match(/(\d+(?:\.\d*)?|\.\d+)\s*[a-zµ]*/gi);
    if (!parts || parts.join("").replace(/\s/g, "") !== text.replace(/\s/g, ""))
        return undefined;
    let sum = 0;
    for (const part of parts) {
        const us = quantity(part, TIMES_US);
        if (us === undefined) return undefined;
        sum += us;
    }
    return sum;
}

const exactly = (x: number, units: [number, string][]) => {
    for (const [size, name] of units)
        if (x >= size && Number.isInteger((x / size) * 1000))
            return `${x / size} ${name}`;
    return undefined;
};

/* Text that parses back to the same number. */
export const sizeEntry = (bytes: number) => exactly(bytes, [
    [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) ?? `${bytes} B`;

export const timeEntry = (us: number) =>
    exactly(us, [[1e6, "s"], [1e3, "ms"]]) ?? `${us} us`;
