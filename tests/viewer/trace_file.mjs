/* trace_file.mjs -- traces made for tests of the page, event by event
 *
 * The writer is a plain one of format 2 (doc/design/wire.md): every frame of a
 * stack is a miss of the cache, every name is new. */

const PACKET_BYTES = 32768;
const HEADER_BYTES = 66;
const NO_CHECK = 0xffff;
const MAGIC = 0xc1fc1fc1;
const SLOTS = 16384;

class Bytes {
    constructor() {
        this.parts = [];
        this.length = 0;
    }

    push(buffer) {
        this.parts.push(buffer);
        this.length += buffer.length;
    }

    put(size, write) {
        const b = Buffer.alloc(size);
        write(b);
        this.push(b);
    }

    u8(x) { this.put(1, (b) => b.writeUInt8(x)); }
    u16(x) { this.put(2, (b) => b.writeUInt16LE(x)); }
    u32(x) { this.put(4, (b) => b.writeUInt32LE(x)); }
    u64(x) { this.put(8, (b) => b.writeBigUInt64LE(BigInt(x))); }
    f64(x) { this.put(8, (b) => b.writeDoubleLE(x)); }
    text(s) { this.push(Buffer.concat([Buffer.from(s), Buffer.alloc(1)])); }

    vint(x) {
        if (x < 253) {
            this.u8(x);
        } else if (x < 65536) {
            this.u8(253);
            this.u16(x);
        } else {
            this.u8(254);
            this.u32(x);
        }
    }

    all() { return Buffer.concat(this.parts); }
}

export class TraceFile {
    constructor({ rate = 1e-3, word_bits = 64, program = "/bin/made",
                  context = "" } = {}) {
        this.pid = 4711;
        this.start_us = 1_700_000_000_000_000;
        this.now_us = 0;
        this.out = new Bytes();
        this.n = 0; /* allocations so far */
        this.codes = new Map();
        this.open();
        const b = this.packet;
        this.event(0);
        b.f64(rate);
        b.u8(word_bits);
        b.text(program);
        b.text("host");
        b.text("");
        b.u64(this.pid);
        b.text(context);
        this.close();
    }

    open() {
        this.packet = new Bytes();
        this.begin_us = this.now_us;
        this.first = this.n;
    }

    close() {
        const body = this.packet;
        if (body.length === 0) return;
        const h = new Bytes();
        h.u32(MAGIC);
        h.u32((HEADER_BYTES + body.length) * 8);
        h.u64(this.start_us + this.begin_us);
        h.u64(this.start_us + this.now_us);
        h.u32(0);
        h.u16(2);
        h.u64(this.pid);
        h.u16(NO_CHECK);
        h.u16(0);
        h.u64(0);
        h.u64(this.first);
        h.u64(this.n);
        this.out.push(h.all());
        this.out.push(body.all());
        this.open();
    }

    event(code) {
        const low = (this.start_us + this.now_us) % 2 ** 25;
        this.packet.u32(code * 2 ** 25 + low);
    }

    /* Room for so many bytes in a packet, within 30 s of its begin. */
    room(bytes) {
        if (HEADER_BYTES + this.packet.length + bytes > PACKET_BYTES ||
            this.now_us - this.begin_us > 30e6)
            this.close();
        if (this.packet.length === 0) this.open();
    }

    at(us) {
        this.now_us = us;
        return this;
    }

    /* A frame: its code, announced when it is new. */
    frame({ name, file = "made.c", line = 1 }) {
        const key = `${name}\0${file}\0${line}`;
        let code = this.codes.get(key);
        if (code !== undefined) return code;
        code = this.codes.size + 1;
        this.codes.set(key, code);
        return this.record(code, { name, file, line });
    }

    /* A phase begins (wire/side.h). */
    mark(name) {
        this.record((0x2an << 58n) | (2n << 56n) | BigInt(this.now_us),
                    { name: `mark name=${name}`, file: "aliquot", line: 0 });
    }

    record(code, { name, file, line }) {
        this.room(32 + 2 * (Buffer.byteLength(name) + Buffer.byteLength(file)));
        this.event(1);
        const b = this.packet;
        b.u64(code);
        b.u8(1);
        const bits = BigInt(line) | 31n << 38n | 31n << 43n;
        b.u32(Number(bits & 0xffffffffn));
        b.u16(Number(bits >> 32n));
        b.text(file);
        b.text(name);
        return code;
    }

    /* Frames from outermost to innermost; source 0 minor, 1 major, 2 external.
     * Returns the block. */
    alloc(words, frames, { samples = 1, source = 2 } = {}) {
        const codes = frames.map((f) => this.frame(f));
        this.room(32 + 10 * codes.length);
        this.event(2);
        const b = this.packet;
        b.vint(words);
        b.vint(samples);
        b.u8(source);
        b.vint(0);
        b.u16(codes.length);
        for (const code of codes) {
            b.u16((code % SLOTS) * 4 + 3);
            b.u64(code);
        }
        return this.n++;
    }

    free(block) {
        this.room(16);
        this.event(4);
        this.packet.vint(this.n - 1 - block);
    }

    bytes() {
        this.close();
        return this.out.all();
    }
}

/* Numbers at random that are the same each time. */
export function dice(seed) {
    let s = seed;
    return () => {
        s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
        return s / 2 ** 32;
    };
}
