"""The planner's advice, against seed 003's statements and the tables of an
independent program (src/limit/plan_accuracy.csv)."""
import csv
import json
import os
import re
import xml.etree.ElementTree as xml

import common


class Limits(common.Case):
    def advice(self, *args):
        return json.loads(self.ok("limits", "--json", *args))

    def test_task(self):
        text = self.ok("limits", "--task", "20kw", "--safe", "4e-15")
        self.assertIn("needs a limit of 220 kw", text)
        self.assertIn("sample 22, one in 10 kw", text)
        self.assertIn("up to 22.1 kw", text)
        for line in text.splitlines():
            self.assertLessEqual(len(line), 80, line)
        rows = {r["probability"]: r
                for r in self.advice("--task", "20kw")["table"]}
        self.assertEqual([rows[p]["limit_words"] for p in (1e-9, 4e-15, 1e-50)],
                         [160000, 220000, 500000])
        self.assertEqual(self.advice("--task", "20000w"),
                         self.advice("--task", "0.02Mw"))

    def test_limit_against_the_table(self):
        path = os.path.join(common.SOURCE, "src", "limit", "plan_accuracy.csv")
        with open(path) as f:
            for row in csv.DictReader(f):
                got = self.advice("--limit", row["limit_words"], "--safe",
                                  row["target_probability"])["advice"]
                self.assertEqual(got["safe_words"], int(row["safe_words"]))

    def test_task_that_is_not_safe(self):
        text = self.ok("limits", "--task", "23kw", "--limit", "220kw")
        self.assertIn("is NOT safe", text)
        self.assertNotIn("NOT", self.ok("limits", "--task", "22kw", "--limit",
                                        "220kw"))

    def test_finer_intervals_are_better(self):
        safe = [self.advice("--limit", "60kw", "--interval", i)["advice"]
                ["safe_words"] for i in ("10kw", "1kw", "100", "10", "1")]
        self.assertEqual(safe, [121, 17896, 42987, 54477, 59999])

    def test_plot(self):
        path = os.path.join(self.dir, "plot.svg")
        self.assertEqual(self.ok("limits", "--plot", path), "")
        tree = xml.parse(path)
        curves = [p for p in tree.iter("{http://www.w3.org/2000/svg}path")
                  if p.get("class") == "curve"]
        self.assertEqual(len(curves), 3)
        for curve in curves:
            ys = [float(y) for y in re.findall(r"[ML]\S+ (\S+?)(?=[ML]|$)",
                                               curve.get("d"))]
            self.assertGreater(len(ys), 50)
            self.assertEqual(ys, sorted(ys))  # accuracy only grows
        self.assertNotIn("href", open(path).read())
        again = common.run("limits", "--plot", path)
        self.assertEqual(again.returncode, 2)
        self.ok("limits", "--task", "20kw", "--plot", path, "-f")
        self.assertIn(">220 kw<", open(path).read())

    def test_mistakes_name_what_is_wrong(self):
        rows = [
            ([], "for which --task, or what --limit?"),
            (["--task", "0"], "--task 0: whole words from 1 on"),
            (["--task", "1.5"], "whole words"),
            (["--task", "20kb"], "units w kw Mw Gw"),
            (["--task", "1e30w"], "whole words"),
            (["--task=-1"], "whole words"),
            (["--task", "20kw", "--safe", "0"], "above 0 and below 1"),
            (["--task", "20kw", "--safe", "nan"], "above 0 and below 1"),
            (["--interval", "0", "--limit", "5"], "--interval 0: whole words"),
            (["--limit", "5", "more"], "'more' is too many"),
            (["--plot", "curve.PNG"], "--plot curve.PNG: it is drawn as SVG"),
        ]
        for args, part in rows:
            result = common.run("limits", *args)
            self.assertEqual((result.returncode, result.stdout), (2, ""), args)
            self.assertIn(part, result.stderr, args)


if __name__ == "__main__":
    common.main()
