"""Heap snapshots as bytes, by the words of wire/dump.h: a second encoder."""
import struct

(PROGRAM, MODULE, KIND, SITE, ROOT, SAMPLE, RUN, END) = range(1, 9)
(FRAME, RANGE, GLOBAL, BOXED, PIN, SCANNER, STACK, TRANSFER, FINAL, PROFILE,
 HOST) = range(11)


def number(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def text(t):
    t = t if isinstance(t, bytes) else t.encode()
    return number(len(t)) + t


def zigzag(n):
    return (n << 1) ^ (n >> 63) if n >= 0 else ((-n) << 1) - 1


class Snapshot:
    """Records of a file, in the order of the calls; blocks by address."""

    def __init__(self):
        self.out = bytearray(b'ALQHEAP1')
        self.blocks, self.roots, self.samples = {}, 0, 0
        self.edges = 0

    def program(self, pid, wall_us, *command):
        self.out += number(PROGRAM) + number(pid) + number(wall_us)
        self.out += text('\0'.join(command))

    def module(self, start, end, bias, path, build_id=b''):
        self.out += number(MODULE) + number(start) + number(end)
        self.out += number(bias) + text(path) + text(build_id)

    def kind(self, n, name):
        self.out += number(KIND) + number(n) + text(name)

    def site(self, n, *frames):
        self.out += number(SITE) + number(n) + number(len(frames))
        for address, function, file, line in frames:
            self.out += number(address) + text(function) + text(file)
            self.out += number(line)

    def root(self, kind, domain, slot, name, block):
        self.out += number(ROOT) + number(kind) + number(domain)
        self.out += number(slot) + text(name) + number(block)
        self.roots += 1

    def sample(self, block, site, samples, rate):
        bits, = struct.unpack('<Q', struct.pack('<d', rate))
        self.out += number(SAMPLE) + number(block) + number(site)
        self.out += number(samples) + number(bits)
        self.samples += 1

    def block(self, address, words, tag=0, kind=None, edges=()):
        self.blocks[address] = (words, tag, kind, list(edges))

    def runs(self):
        """Writes the blocks given so far."""
        end = None
        for address in sorted(self.blocks):
            words, tag, kind, edges = self.blocks[address]
            header = address - 8
            if end is None or header - end >= 32768:
                if end is not None:
                    self.out += number(0)
                self.out += number(RUN) + number(header)
                end = header
            self.out += number(words << 8 | tag) + number((header - end) // 8)
            self.out += number(0 if kind is None else kind + 1)
            for target in edges:
                self.out += number(1 + zigzag((target - address) // 8))
                self.edges += 1
            self.out += number(0)
            end = address + words * 8
        if end is not None:
            self.out += number(0)

    def end(self, stop_ns=1500000, is_copied=True):
        self.runs()
        words = sum(b[0] + 1 for b in self.blocks.values())
        self.out += number(END)
        for n in (len(self.blocks), words, self.edges, self.roots,
                  self.samples, stop_ns, int(is_copied)):
            self.out += number(n)
        return bytes(self.out)


def small():
    """Two roots, a list that one holds, a table that both reach."""
    s = Snapshot()
    s.program(4711, 1790000000000000, '/bin/prog', '--x')
    s.kind(0, 'pair')
    s.kind(256, 'file')
    s.site(7, (0, 'make_list', 'list.c', 12), (0, 'main', 'main.c', 3))
    for i in range(5):
        a = 0x10008 + i * 0x20
        s.block(a, 2, 0, None, [a + 0x20] if i < 4 else [])
    s.block(0x20008, 10, 1, None, [0x20108, 0x20208])
    s.block(0x20108, 4, 252)
    s.block(0x20208, 6, 255, 256)
    s.block(0x30008, 3, 0, None, [0x20108])
    s.root(GLOBAL, 0, 0x404000, 'the_list', 0x10008)
    s.root(FRAME, 1, 0x7ffc0010, 'main:3', 0x20008)
    s.root(RANGE, 0, 0x405000, 'names', 0x20208)
    s.sample(0x10028, 7, 1, 0.01)
    return s.end()


if __name__ == '__main__':
    import sys
    sys.stdout.buffer.write(small())
