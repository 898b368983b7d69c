"""Heap snapshots as bytes, by the words of wire/dump.h: a second encoder."""
import collections
import os
import random
import struct
import sys

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


class Graph:
    """Random blocks; edges and roots may lead to memory outside."""

    def __init__(self, seed):
        r = random.Random(seed)
        n, at = r.randrange(1, 40), 0x7f0000000008
        self.words, self.edges, self.kinds = {}, {}, {}
        for _ in range(n):
            words = r.randrange(1, 9)
            self.words[at] = words
            at += words * 8 + 8 + r.choice([0, 0, 8, 160, 40000, 1 << 27])
        blocks = list(self.words)
        for a in blocks:
            count = r.choice([0, 0, 1, 2, 3])
            self.edges[a] = [r.choice(blocks + [0x5000])
                             for _ in range(min(count, self.words[a]))]
            self.kinds[a] = r.randrange(3)
        self.roots = [(i, r.choice(blocks + [0x5008]))
                      for i in range(r.randrange(4)) for _ in range(2)]

    def bytes(self):
        s = Snapshot()
        s.program(1, 1790000000000000, 'p')
        for i in range(3):
            s.kind(i, 'kind%d' % i)
        for i, block in self.roots:
            s.root(GLOBAL, 0, 0x100 + i, 'root%d' % i, block)
        for a in self.words:
            s.block(a, self.words[a], self.kinds[a], None, self.edges[a])
        return s.end()

    def reached(self, without=None):
        """Blocks that roots lead to, but not through `without`: a block, or a
        root's number."""
        seen = set()
        work = [b for i, b in self.roots if i != without]
        while work:
            a = work.pop()
            if a in self.words and a not in seen and a != without:
                seen.add(a)
                work += self.edges[a]
        return seen

    def retained(self, what):
        lost = self.reached() - self.reached(what)
        return sum(8 * (self.words[a] + 1) for a in lost), len(lost)

    def distance(self):
        """Of each block: steps from a root."""
        far = {}
        line = collections.deque((b, 1) for _, b in self.roots)
        while line:
            a, n = line.popleft()
            if a in self.words and a not in far:
                far[a] = n
                line.extend((b, n + 1) for b in self.edges[a])
        return far


if __name__ == '__main__':
    # snapshots.py DIRECTORY N SEED: files of random graphs, by number
    for n in range(int(sys.argv[2])):
        with open(os.path.join(sys.argv[1], '%d.heap' % n), 'wb') as out:
            out.write(Graph(int(sys.argv[3]) + n).bytes())
