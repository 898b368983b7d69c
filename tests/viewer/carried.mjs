/* carried.mjs -- the engine and the data of an exported page, without a
 * browser: what it answers */
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

function carried(text, kind) {
    const m = new RegExp(`data-kind=${kind}>([^<]*)<`).exec(text);
    return gunzipSync(Buffer.from(m[1], "base64"));
}

/* A function of an answer's name and its query. */
export async function carriedEngine(path) {
    const text = readFileSync(path, "utf8");
    const module = await WebAssembly.compile(carried(text, "engine"));
    const imports = {};
    for (const i of WebAssembly.Module.imports(module))
        (imports[i.module] ??= {})[i.name] = () => 52;
    const c = (await WebAssembly.instantiate(module, imports)).exports;
    const put = (bytes) => {
        const at = c.room(bytes.length);
        new Uint8Array(c.memory.buffer, at, bytes.length).set(bytes);
        return at;
    };
    const word = (s) => put(Buffer.from(s + "\0"));
    c._initialize();
    const index = carried(text, "index");
    if (c.add(put(index), index.length) !== 0)
        throw new Error("the engine refuses the index");
    return (name, query) => {
        const status = c.answer(word(name), word(query));
        const answer = JSON.parse(Buffer.from(c.memory.buffer, c.text(),
                                              c.text_bytes()).toString());
        if (status !== 200) throw new Error(answer.error);
        return answer;
    };
}
