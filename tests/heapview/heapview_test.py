"""aliquot heap: figures and ways of random graphs against their definitions,
the difference of two snapshots, the export, and files that are damaged.

Retained sizes are judged by removal: what cannot be reached without a block."""
import collections
import gzip
import json
import os
import random
import re
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

import snapshots
from snapshots import GLOBAL, Graph, Snapshot

BIN = os.environ['ALIQUOT_BIN']
SEED = int(os.environ.get('ALQ_TEST_SEED', 0))


def run(*args, rc=0, stdin=None):
    done = subprocess.run([BIN, 'heap', *args], stdin=stdin,
                          capture_output=True, text=True)
    if done.returncode != rc:
        raise AssertionError(f'{args}: {done.returncode}\n{done.stdout}'
                             f'{done.stderr}')
    return done


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix='aliquot-heap-')
        self.addCleanup(self.dir.cleanup)

    def file(self, name, data):
        path = os.path.join(self.dir.name, name)
        with open(path, 'wb') as out:
            out.write(data)
        return path

    def json(self, *args, rc=0):
        return json.loads(run('--json', '--top=0', *args, rc=rc).stdout)


class Graphs(Case):
    COUNT = 50

    def graphs(self):
        for i in range(self.COUNT):
            g = Graph(1000 * SEED + i)
            yield g, self.file('g.heap', g.bytes())

    def walk(self, nodes, parent=None):
        for n in nodes:
            yield n, parent
            yield from self.walk(n['below'], n)

    def test_what_is_retained_is_what_goes_with_it(self):
        for g, path in self.graphs():
            out = self.json('--tree', '--depth=64', path)
            held = g.reached()
            self.assertEqual(out['held']['blocks'], len(held))
            self.assertEqual(out['garbage']['blocks'],
                             len(g.words) - len(held))
            met = set()
            for n, parent in self.walk(out['tree']):
                if 'root' in n:
                    what = int(n['root'].split('root')[1])
                else:
                    what = int(n['address'], 16)
                    met.add(what)
                    self.assertEqual(n['own_bytes'], 8 * (g.words[what] + 1))
                    self.assertEqual(n['kind'], 'kind%d' % g.kinds[what])
                self.assertEqual(
                    (n['retained_bytes'], n['retained_blocks']),
                    g.retained(what))
                if parent and 'address' in parent:
                    above = int(parent['address'], 16)
                    self.assertNotIn(what, g.reached(above))
            self.assertEqual(met, held)

    def test_each_way_is_one_and_the_shortest(self):
        for g, path in self.graphs():
            far = g.distance()
            rc = 0 if g.words else 1
            out = self.json('--path=kind:', path, rc=rc)
            self.assertEqual(out['blocks'], len(g.words))
            self.assertEqual(out['held'], len(far))
            ends = []
            for way in out['ways']:
                at = [int(b['address'], 16) for b in way['blocks']]
                root = int(way['root'].split('root')[1])
                self.assertIn((root, at[0]), g.roots)
                for a, b in zip(at, at[1:]):
                    self.assertIn(b, g.edges[a])
                self.assertEqual(len(at), far[at[-1]])
                ends.append(at[-1])
            self.assertEqual(sorted(ends), sorted(far))
            self.assertEqual([far[e] for e in ends],
                             sorted(far.values()))

    def test_groups_add_up(self):
        for g, path in self.graphs():
            out = self.json('--holders', '--depth=3', path)
            own = collections.Counter()

            def add(group, depth):
                self.assertLessEqual(depth, 4)
                own['bytes'] += group['own_bytes']
                own['blocks'] += group['own_blocks']
                for figure in 'bytes', 'blocks':
                    self.assertEqual(
                        group[figure],
                        group['own_' + figure]
                        + sum(b[figure] for b in group['below']))
                for b in group['below']:
                    add(b, depth + 1)

            for group in out['groups']:
                add(group, 1)
            self.assertEqual(own['bytes'], out['held']['bytes'])
            self.assertEqual(own['blocks'], out['held']['blocks'])

    def test_export_says_the_same(self):
        """By the fields that the file names; a reader's own dominators are
        compared in tests/viewer."""
        for g, path in self.graphs():
            out = os.path.join(self.dir.name, 'out.heapsnapshot')
            run('--export', out, '-f', path)
            with open(out) as f:
                v8 = json.load(f)
            meta = v8['snapshot']['meta']
            n_fields, e_fields = (len(meta['node_fields']),
                                  len(meta['edge_fields']))
            nodes, edges = v8['nodes'], v8['edges']
            self.assertEqual(len(nodes), n_fields *
                             v8['snapshot']['node_count'])
            self.assertEqual(len(edges), e_fields *
                             v8['snapshot']['edge_count'])
            sizes, names, first = [], [], 0
            to = []
            for i in range(0, len(nodes), n_fields):
                node = dict(zip(meta['node_fields'], nodes[i:]))
                names.append(v8['strings'][node['name']])
                sizes.append(node['self_size'])
                last = first + node['edge_count'] * e_fields
                to.append([edges[k + 2] // n_fields
                           for k in range(first, last, e_fields)])
                first = last
            self.assertEqual(first, len(edges))
            self.assertEqual(names[:2], ['', '(GC roots)'])
            self.assertEqual(sum(sizes), sum(8 * (g.words[a] + 1)
                                             for a in g.reached()))
            blocks = sorted(g.reached())
            place = {a: i + len(sizes) - len(blocks)
                     for i, a in enumerate(blocks)}
            for a in blocks:
                self.assertEqual(to[place[a]], [place[b] for b in g.edges[a]
                                                if b in place])


class Pages(Case):
    def small(self):
        return self.file('small.heap', snapshots.small())

    def test_page(self):
        out = run(self.small()).stdout
        for line in ['process 4711 (/bin/prog --x), 2026-09-21 14:13:20 UTC, '
                     'stopped for 1.50 ms; a copy of the process wrote it',
                     '304 B         8  HELD     roots lead to them',
                     '32 B         1  GARBAGE  not yet collected',
                     '120 B         5  global the_list',
                     '← frame main:3 → block of tag 1 0x20008',
                     '← global the_list → 4 × pair',
                     '56 B         1  file']:
            self.assertIn(line, out)

    def test_histogram(self):
        kinds = self.json('--histogram', self.small())['kinds']
        self.assertEqual([(k['kind'], k['bytes'], k['blocks'],
                           k['garbage_bytes']) for k in kinds],
                         [('pair', 120, 5, 32), ('block of tag 1', 88, 1, 0),
                          ('file', 56, 1, 0), ('string', 40, 1, 0)])

    def test_ways(self):
        path = self.small()
        inside = run('--path=0x20110', path).stdout
        self.assertIn('frame main:3\n→ block of tag 1 0x20008\n'
                      '→ string 0x20108\n', inside)
        site = run('--path=site:make', path).stdout
        self.assertIn('→ pair 0x10028 of make_list (list.c:12)', site)
        lost = run('--path=0x30008', path).stdout
        self.assertIn('roots lead to 0, and not to 1: garbage', lost)

    def test_sites_have_errors(self):
        group = [g for g in self.json('--holders', self.small())['groups']
                 if g['name'] == 'global the_list'][0]['below'][0]
        site = group['sites'][0]
        self.assertEqual(site['site'], 'make_list (list.c:12)')
        p = 1 - (1 - 0.01) ** 3
        self.assertAlmostEqual(site['bytes'], 24 / p, delta=1)
        self.assertLess(site['bytes_low'], 24 / p)
        self.assertGreater(site['bytes_high'], 24 / p)

    def test_what_grew(self):
        def grown(n):
            s = Snapshot()
            s.kind(0, 'pair')
            s.kind(1, 'table')
            s.root(snapshots.GLOBAL, 0, 1, 'cache', 0x10008)
            s.root(snapshots.GLOBAL, 0, 2, 'other', 0x20008)
            s.block(0x10008, 1, 1, None, [0x100008])
            s.block(0x20008, 7, 1)
            for i in range(n):
                a = 0x100008 + 24 * i
                s.block(a, 2, 0, None, [a + 24] if i + 1 < n else [])
            return s.end()

        a, b = self.file('a', grown(10)), self.file('b', grown(1000))
        text = run(a, b).stdout
        self.assertRegex(text, r'\+23\.2 KiB +256 B +23\.5 KiB +\+990  '
                               r'global cache')
        self.assertNotIn('other', text)
        out = self.json(a, b)
        self.assertEqual(out['all']['change_bytes'], 990 * 24)
        cache = out['groups'][0]
        self.assertEqual(cache['name'], 'global cache')
        self.assertEqual([(g['name'], g['change_bytes'])
                          for g in cache['below'][0]['below']],
                         [('pair', 990 * 24)])
        self.assertEqual(self.json(b, a)['all']['change_bytes'], -990 * 24)

    def test_long_list_is_one_step(self):
        n, s = 200000, Snapshot()
        s.root(snapshots.GLOBAL, 0, 1, 'list', 0x100008)
        for i in range(n):
            a = 0x100008 + 24 * i
            s.block(a, 2, 0, None, [a + 24] if i + 1 < n else [])
        path = self.file('long', s.end())
        out = self.json('--path=0x%x' % (0x100008 + 24 * (n - 1)), path)
        self.assertEqual(len(out['ways'][0]['blocks']), n)
        page = run(path).stdout
        self.assertIn('global list → 199999 × block', page)


class Files(Case):
    def test_cut_ones_are_said_and_used(self):
        whole = snapshots.small()
        for n in (60, 200, len(whole) - 1):
            path = self.file('cut', whole[:n])
            done = run(path, rc=3)
            self.assertRegex(done.stderr, r'damaged at byte \d+: .*; the \d+ '
                                          r'blocks before it are used')
            self.assertIn('HELD', done.stdout)
            self.assertIn('it cannot be known who holds what', done.stdout)
            self.assertFalse(self.json(path, rc=3)['whole'])
        path = self.file('whole', whole)
        self.assertNotIn('cannot be known', run(path).stdout)

    def test_any_damage_ends_well(self):
        r = random.Random(SEED + 7)
        whole = snapshots.small()
        for _ in range(50):
            data = bytearray(whole)
            for _ in range(r.randrange(1, 4)):
                data[r.randrange(8, len(data))] = r.randrange(256)
            path = self.file('bad', bytes(data))
            for option in ([], ['--holders'], ['--path=kind:p'], ['--tree']):
                done = subprocess.run([BIN, 'heap', *option, path],
                                      capture_output=True)
                self.assertIn(done.returncode, (0, 1, 3), done.stderr)
                if done.returncode > 1:
                    self.assertIn(b'damaged', done.stderr)

    def test_what_is_no_snapshot(self):
        said = [(b'', 'is empty'), (b'ALQHEAP2abc', 'it is not a snapshot of a managed heap')]
        for data, words in said:
            done = run(self.file('no', data), rc=3)
            self.assertIn(words, done.stderr)
        self.assertIn('cannot open', run('/nowhere/x', rc=3).stderr)
        self.assertIn('is a directory', run(self.dir.name, rc=3).stderr)
        self.assertIn('too many', run('a', 'b', 'c', rc=2).stderr)
        path = self.file('s', snapshots.small())
        self.assertIn('give one file', run('--tree', path, path, rc=2).stderr)
        self.assertIn('neither an address', run('--path=x', path, rc=2).stderr)
        self.assertIn('no block', run('--path=kind:zzz', path, rc=1).stderr)
        self.assertIn('exists', run('--export', path, path, rc=2).stderr)

    def test_packed_and_piped(self):
        data = snapshots.small()
        path = self.file('s.gz', gzip.compress(data))
        self.assertEqual(self.json(path)['held']['blocks'], 8)
        with open(path, 'rb') as pipe:
            out = run('--json', '-', stdin=pipe).stdout
        self.assertEqual(json.loads(out)['held']['blocks'], 8)

    def test_names_are_no_commands(self):
        s = Snapshot()
        s.program(1, 1, '/bin/\x1b[31mred')
        s.kind(0, 'k\x1b]0;x\x07\n')
        s.root(snapshots.GLOBAL, 0, 1, 'g\x1b[2J\u202e', 0x10008)
        s.site(1, (0, 'f\x1b[1m', 'x\n.c', 1))
        s.block(0x10008, 2)
        s.sample(0x10008, 1, 1, 0.5)
        path = self.file('h', s.end())
        for option in ([], ['--tree'], ['--holders'], ['--path=kind:k'],
                       ['--histogram']):
            out = run(*option, path).stdout
            self.assertIsNone(re.search('[\x00-\x09\x0b-\x1f\u202e]', out),
                              out)


class Served(Case):
    """What `aliquot view` answers of a snapshot is what the command prints."""

    def serve(self, *files):
        server = subprocess.Popen([BIN, 'view', '--no-open', *files],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.terminate)
        self.url = server.stdout.readline().strip()

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def ask(self, name, status=200, **keys):
        got, body = self.get('api/heap/%s?%s' % (
            name, urllib.parse.urlencode(keys)))
        self.assertEqual(got, status, (name, keys, body))
        self.assertLessEqual(len(body), 1000000)
        return json.loads(body)

    def same(self, answer, *args):
        told = json.loads(run('--json', *args).stdout)
        for of in answer, told:
            of.pop('solve_us', None)
        self.assertEqual(answer, told, args)

    def blocks(self, nodes):
        for n in nodes:
            yield n
            yield from self.blocks(n['below'])

    def test_answers(self):
        for i in range(12):
            g = Graph(500 + 1000 * SEED + i)
            path = self.file('g.heap', g.bytes())
            self.serve(path)
            self.same(self.ask('page', top=3), '--top=3', path)
            self.same(self.ask('holders', depth=5), '--holders', '--depth=5',
                      '--top=0', path)
            tree = self.ask('tree', depth=64)
            for n in self.blocks(tree['tree']):
                what = n.get('root') or n['address']
                below = self.ask('tree', below=what, depth=64)
                self.assertEqual(below['tree'], [n])
                self.same(below, '--below', what, '--depth=64', '--top=0',
                          path)
            self.same(tree, '--tree', '--depth=64', '--top=0', path)
            for what in ('kind:kind1', *(hex(a) for a in list(g.words)[:3])):
                named = ([a for a in g.words if g.kinds[a] == 1]
                         if what == 'kind:kind1' else [what])
                if named:
                    self.same(self.ask('path', what=what, top=1000),
                              '--path', what, '--top=0', path)
                else:
                    self.assertIn('no block of', self.ask(
                        'path', 400, what=what)['error'])

    def test_what_is_refused(self):
        path = self.file('small.heap', snapshots.small())
        self.serve(path)
        for name, keys, word in (
                ('tree', {'below': '0x10009'}, 'no block of'),
                ('tree', {'below': '0x30008'}, 'that roots lead to'),
                ('tree', {'below': 'nobody'}, 'the name of a root'),
                ('tree', {'depth': 65}, 'depth=65'),
                ('tree', {'at': 1}, 'no such key'),
                ('path', {}, 'what='), ('path', {'what': '7x'}, 'neither'),
                ('path', {'what': 'site:nobody'}, 'no block of')):
            self.assertIn(word, self.ask(name, 400, **keys)['error'])
        self.assertIn('no such answer', self.ask('nothing', 404)['error'])
        self.assertEqual(self.ask('tree', below='0x20208')['tree'], [
            {'retained_bytes': 56, 'retained_blocks': 1,
             'address': '0x20208', 'kind': 'file', 'own_bytes': 56,
             'left_out': 0, 'below': []}])
        for what in ('0x10009', '0x30008', 'nobody'):
            run('--below', what, path, rc=1)
        run('--below', '0x20208', path, path, rc=2)
        self.assertIn('file 0x20208', run('--below=0x20208', path).stdout)

    def test_what_is_too_small_is_counted(self):
        def of(*shares):
            """Lists below a block, so many of each length; the last block of
            each is of so many words."""
            s, at, lists = Snapshot(), 0x100000, []
            s.kind(0, 'pair')
            for n, length, words in shares:
                for _ in range(n):
                    lists.append(at)
                    for i in range(length - 1):
                        s.block(at, 2, 0, None, [at + 0x20])
                        at += 0x20
                    s.block(at, words)
                    at += 8 * words + 16
            s.block(0x10008, len(lists), 0, None, lists)
            s.root(GLOBAL, 0, 0x404000, 'all', 0x10008)
            return self.file('lists.heap', s.end())

        self.serve(of((1, 4000, 2), (5000, 1, 2)))
        node, = self.ask('tree', depth=3)['tree'][0]['below']
        self.assertEqual((node['left_out'], len(node['below'])), (5000, 1))
        self.serve(of((1800, 10, 300)))  # each is seen, together they are too many
        node, = self.ask('tree', depth=12)['tree'][0]['below']
        self.assertEqual((node['left_out'], node['below']), (1800, []))
        groups = self.ask('holders')
        self.assertEqual(groups['left_out'], 0)

    def test_many_kinds(self):
        s = Snapshot()
        for i in range(2000):
            s.kind(300 + i, 'kind %d ' % i + 600 * 'x')
            s.block(0x10008 + 0x40 * i, 3, 0, 300 + i)
        path = self.file('kinds.heap', s.end())
        self.serve(path)
        page = self.ask('page')
        self.assertEqual((len(page['kinds']), page['kinds_left_out']),
                         (500, 1500))
        told = json.loads(run('--json', path).stdout)
        self.assertEqual((len(told['kinds']), told['kinds_left_out']),
                         (2000, 0))

    def test_beside_a_trace_and_alone(self):
        path = self.file('small.heap', snapshots.small())
        packed = self.file('small.heap.gz', gzip.compress(snapshots.small()))
        self.serve(packed)
        self.assertEqual(json.loads(self.get('api/info')[1])['traces'], [])
        self.assertIn('heap.js', self.get('')[1])
        self.assertIn('data-filter="view=holders"', self.get('index.html')[1])
        self.assertEqual(self.get('api/sites')[0], 404)
        again = subprocess.run([BIN, 'view', '--no-open', path, packed],
                               capture_output=True, text=True)
        self.assertEqual(again.returncode, 2)
        self.assertIn('one heap snapshot at a time', again.stderr)

    def test_a_file_that_is_another_one_now(self):
        path = self.file('small.heap', snapshots.small())
        self.serve(path)
        os.remove(path)
        self.file('small.heap', Graph(3).bytes())
        self.assertEqual(self.ask('page')['pid'], 4711)
        self.assertIn('no longer what it was',
                      self.ask('path', 400, what='0x10008')['error'])


if __name__ == '__main__':
    unittest.main()
