"""Traces that are odd: names, very many sites, one sample, none, many threads;
each answer stays within its limit, and says what it left out."""
import json
import struct

import view
from view import common

ANSWERS = ("info", "timeline", "timeline?n=2000&stack=function",
           "timeline?draw=temporary&stack=module&step=1000000",
           "tree", "tree?dir=up", "tree?min=0",
           "tree?min=0&dir=up", "sites", "sites?limit=100000",
           "sites?group=line&limit=100000", "sites?group=file",
           "sites?group=module", "functions?limit=100000", "hot?limit=100",
           "growth", "growth?group=line&limit=100000", "groups",
           "groups?percent=1", "heat", "samples", "samples?limit=1000&order=size",
           "samples?order=life&offset=5", "samples?order=-name",
           "sites?sort=name&q=a", "functions?sort=-self&q=~a", "growth?q=~a",
           "diff?live=peak&b.live=end",
           "diff?limit=100000&size=..100&b.size=100..",
           "difftree?min=0&live=peak&b.live=end",
           "difftree?min=0&dir=up&b.size=10..", "graph",
           "graph?min=0&edge=0&nodes=1000", "graph?threads=split&recursion=keep",
           "tree?fold=library:&fold=~a&threads=split", "function?id=0",
           "function?id=1")

# Of what was never freed alone.
LEFT = ("held", "held?group=line&limit=100000", "held?q=~a", "reach",
        "reach?sort=-name")


class Odd(view.Case):
    def all_answers(self, path):
        """Name -> answer, each within the limit."""
        out = {}
        with view.Server("--no-index", path) as server:
            n = server.ask("tree")["functions"][-1]["id"]
            for text in ANSWERS + LEFT:
                if text == "function?id=1" and n < 1:
                    continue
                name, _, query = text.partition("?")
                out[text] = server.ask(name, query)
        return out

    def totals_agree(self, answers):
        total = answers["info"]["traces"][0]["total"]
        for text, answer in answers.items():
            if "total" in answer and text not in LEFT and "peak" not in text and \
                    "size" not in text.split("?")[-1]:
                self.assertEqual(answer["total"], total, text)
            for i, value in enumerate(answer["part"]
                                      if "bands" in answer else ()):
                self.assertEqual(sum(b["values"][i] for b in answer["bands"]),
                                 value, text)
            if text.startswith("sites"):
                self.assertEqual(sum(r["sum"]["n"] for r in answer["rows"])
                                 + answer["rest"]["sum"]["n"], total["n"],
                                 text)

    def longer(self, path, n):
        """The trace with the long name made longer by n bytes, as another
        writer may have it."""
        with open(path, "rb") as f:
            data = f.read()
        out, at, n_made = b"", 0, 0
        while at < len(data):
            size = struct.unpack_from("<I", data, at + 4)[0] // 8
            packet = data[at:at + size]
            parts = packet.split(b"long_x")
            n_made += len(parts) - 1
            packet = (b"long_" + n * b"x" + b"x").join(parts)
            out += packet[:4] + struct.pack("<I", 8 * len(packet)) + packet[8:]
            at += size
        self.assertGreater(n_made, 0)
        return self.write("longer.ctf", out)

    def test_odd_names(self):
        path = self.longer(
            self.view_trace(odd=1, functions=30, stacks=300, events=20000,
                            reach=1, holders=40), 96)
        self.assertIn("no findings", self.ok("check", path))
        answers = self.all_answers(path)
        self.totals_agree(answers)
        names = {f["name"] for f in answers["tree?min=0"]["functions"]}
        self.assertIn("<img src=x onerror=alert(1)>", names)
        self.assertIn("a\"b\\c'd&amp;</script><!--", names)
        self.assertIn("std::vector<int, A<B>>::operator+=(T&&) const", names)
        self.assertIn("\u0416\u2200\U0001F42B", names)
        self.assertTrue(any(n.startswith("long_xxx") and len(n) > 2000
                            for n in names))
        self.assertIn("?? broken", names)
        self.assertIn("two?lines?tab? 100%=&#+", names)
        # Such names can be asked for.
        with view.Server("--no-index", path) as server:
            for name in names:
                if name.startswith("["):
                    continue
                got = server.ask("functions", view.query(in_="=" + name))
                # Two files may have it, and a stack both.
                n = [r["all"]["n"] for r in got["rows"]
                     if got["functions"][r["function"]]["name"] == name]
                self.assertGreater(got["total"]["n"], 0)
                self.assertLessEqual(max(n), got["total"]["n"], name[:20])
                self.assertGreaterEqual(sum(n), got["total"]["n"], name[:20])
            _, headers, body = server.get("api/functions")
            self.assertEqual(headers["Content-Type"], "application/json")
            self.assertNotIn(b"<", body)

    def test_a_hundred_thousand_sites(self):
        n = view.much(200000)
        path = self.view_trace(functions=n, stacks=n, depth=8,
                               events=view.much(500000), never=900, sites=1)
        answers = self.all_answers(path)
        self.totals_agree(answers)
        sites = answers["sites?limit=100000"]
        self.assertGreater(len(sites["rows"]) + sites["rest"]["rows"],
                           view.much(100000))
        self.assertGreater(sites["rest"]["rows"], view.much(50000))
        self.assertGreater(len(sites["rows"]), 1000)

    def test_deep_stacks(self):
        path = self.view_trace(functions=3000, stacks=view.much(500),
                               depth=900, events=view.much(5000))
        self.totals_agree(self.all_answers(path))

    def test_many_threads(self):
        path = self.view_trace(threads=20000, events=view.much(100000))
        info = self.all_answers(path)["info"]["traces"][0]
        self.assertEqual(len(info["threads"]) + info["threads_left_out"],
                         20000)
        self.assertGreater(len(info["threads"]), 1000)

    def test_one_sample(self):
        path = self.view_trace(events=1)
        answers = self.all_answers(path)
        self.totals_agree(answers)
        self.assertEqual(answers["info"]["traces"][0]["total"]["n"], 1)
        self.assertEqual(len(answers["samples"]["rows"]), 1)
        self.assertEqual(len(answers["sites"]["rows"]), 1)

    def test_none(self):
        path = self.view_trace(events=0)
        answers = self.all_answers(path)
        self.totals_agree(answers)
        info = answers["info"]["traces"][0]
        self.assertEqual(info["total"]["n"], 0)
        self.assertEqual(answers["samples"]["rows"], [])
        self.assertEqual(answers["hot?limit=100"]["rows"], [])
        (root,) = answers["tree"]["nodes"]
        self.assertEqual(root[:7], [0] * 7)
        self.assertGreater(root[7], 0)  # what may have gone unseen

    def test_faults(self):
        """What is odd in the format: each that the report reads."""
        n = 0
        for path in sorted(common.glob.glob(common.os.path.join(
                common.GOLDEN, "faults", "*.ctf"))):
            report = common.run("report", "--json", path)
            if not report.stdout:
                continue
            with view.Server("--no-index", path) as server:
                total = server.ask("info")["traces"][0]["total"]
                sites = server.ask("sites")
            self.assertEqual(
                total["n"],
                json.loads(report.stdout)["allocated_sampled_blocks"], path)
            self.assertEqual(sites["total"], total)
            n += 1
        self.assertGreater(n, 40)


if __name__ == "__main__":
    common.main()
