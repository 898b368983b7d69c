/* engine.ts -- the engine within the page: the server's own code as WebAssembly
 *
 * A page that was exported carries the engine and the indexes of its traces,
 * compressed, as text that is no script (src/view/wasm.c has the other side).
 * Nothing is fetched: the page works where it lies. */

import type { Engine } from "./ask";

interface Exports {
    memory: WebAssembly.Memory;
    _initialize: () => void;
    room: (n: number) => number;
    add: (bytes: number, n: number) => number;
    answer: (path: number, query: number) => number;
    text: () => number;
    text_bytes: () => number;
}

const carried = (kind: string) =>
    [...document.querySelectorAll<HTMLElement>(`script[data-kind="${kind}"]`)];

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

async function inflated(element: HTMLElement): Promise<Uint8Array> {
    const packed = new Blob([bytesOf((element.textContent ?? "").trim())]);
    const stream = packed.stream()
        .pipeThrough(new DecompressionStream("gzip"));
    element.remove(); /* its room is worth more */
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* What the C library would want of a system: there is none. */
function nothing(module: WebAssembly.Module): WebAssembly.Imports {
    const ENOSYS = 52;
    const imports: Record<string, Record<string, () => number>> = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
        (imports[from] ??= {})[name] = () => ENOSYS;
    return imports;
}

class Wasm {
    constructor(private readonly c: Exports) {}

    private put(bytes: Uint8Array): number {
        const at = this.c.room(bytes.length);
        if (at === 0) throw new Error("there is no memory for it");
        new Uint8Array(this.c.memory.buffer, at, bytes.length).set(bytes);
        return at;
    }

    private text(at: number, n?: number): string {
        const all = new Uint8Array(this.c.memory.buffer, at);
        return new TextDecoder().decode(
            all.subarray(0, n ?? all.indexOf(0)));
    }

    private word(text: string): number {
        return this.put(new TextEncoder().encode(text + "\0"));
    }

    add(index: Uint8Array) {
        const wrong = this.c.add(this.put(index), index.length);
        if (wrong !== 0) throw new Error(this.text(wrong));
    }

    /* The words of a question are freed with its answer. */
    ask(name: string, query: string): unknown {
        const status = this.c.answer(this.word(name), this.word(query));
        const answer = JSON.parse(this.text(this.c.text(),
                                            this.c.text_bytes()));
        if (status !== 200)
            throw new Error(answer.error ?? `the engine says ${status}`);
        return answer;
    }
}

export const isCarried = () => carried("index").length > 0;

export async function carriedEngine(): Promise<Engine> {
    const [code] = carried("engine");
    if (!code) throw new Error("the page has lost its engine");
    const module = await WebAssembly.compile(await inflated(code) as
        Uint8Array<ArrayBuffer>);
    const { exports } = await WebAssembly.instantiate(module, nothing(module));
    const c = exports as unknown as Exports;
    c._initialize();
    const wasm = new Wasm(c);
    for (const index of carried("index")) wasm.add(await inflated(index));
    return async (name, query) => {
        /* Let what waits for it be painted first. */
        await new Promise((resolve) => setTimeout(resolve));
        return wasm.ask(name, query);
    };
}
