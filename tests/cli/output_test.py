"""What stands on the page: widths, colours, pagers, pipes, files."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import common


def terminal_read(parent):
    """All that was written to a terminal; closes its descriptor.

    One read may hand over a part only: the end is an error of the descriptor.
    """
    text = b""
    end = time.monotonic() + common.PATIENCE_S
    while time.monotonic() < end:
        if not select.select([parent], [], [], 1)[0]:
            continue
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(parent)
    return text


def in_terminal(args, env, columns=90):
    """Output of the command when its stdout is a terminal."""
    parent, child = pty.openpty()
    environment = {**common.ENV, "COLUMNS": str(columns), **env}
    process = subprocess.Popen([common.BIN, *args], stdin=subprocess.DEVNULL,
                               stdout=child, stderr=subprocess.PIPE,
                               env=environment)
    os.close(child)
    text = terminal_read(parent)
    errors = process.stderr.read()
    process.stderr.close()
    return process.wait(), text.decode().replace("\r\n", "\n"), errors


class Output(common.Case):
    def setUp(self):
        super().setUp()
        self.path = self.made(20000, 500, 1e-4)
        self.golden = self.write("t.ctf", common.trace("wordcount-1e-3.v2"))

    def test_no_line_is_wider_than_asked(self):
        for path in (self.path, self.golden):
            for columns in (80, 100, 120, 200):
                for options in (["--peak"], ["--leaks", "-g", "line"],
                                ["--allocated", "--tree=bottom-up"],
                                ["--live", "-g", "file"], ["-g", "module"]):
                    text = self.ok("report", *options, path,
                                   env={"COLUMNS": str(columns)})
                    for line in text.splitlines():
                        self.assertLessEqual(len(line), columns, line)

    def test_parts_of_the_report(self):
        text = self.ok("report", self.path)
        for part in ("allocated ", "peak ", "live at end ", "temporary ",
                     "over time ", " ± ", "LIVE AT THE PEAK", "by function",
                     "standard error", "FROM THE PROGRAM DOWN", "./a program"):
            self.assertIn(part, text)
        self.assertIn("NEVER FREED", self.ok("report", "--leaks", self.path))
        self.assertNotIn("CALLS", self.ok("report", "--tree=none", self.path))
        text = self.ok("report", "--min-life=1s", self.path)
        self.assertIn("only blocks that lived at least 1 s", text)
        self.assertIn("nothing", text)
        exact = self.ok("report", self.made(5000, 50, 0.125))
        self.assertIn("figures are exact", exact)
        self.assertNotIn("±", exact)

    def test_table_rows(self):
        rows = self.ok("report", "--top=3", "--tree=none", self.path)
        table = rows[rows.index("LIVE AT"):].strip().splitlines()
        self.assertEqual(len(table), 2 + 3 + 1)
        self.assertRegex(table[-1], r"in \d+ more functions")
        everything = self.ok("report", "--top=0", "--tree=none", self.path)
        self.assertNotIn(" more functions", everything)

    def test_tree_shares(self):
        text = self.ok("report", "--min-share=10", self.path)
        tree = text[text.index("CALLS"):].splitlines()[1:]
        shares = [float(line.split("%")[0]) for line in tree]
        self.assertEqual(shares[0], 100 if len(shares) == 1 else shares[0])
        self.assertTrue(all(s >= 10 for s in shares))
        self.assertGreater(len(shares), 3)

    def test_colours(self):
        plain = self.ok("report", self.path)
        self.assertNotIn("\033", plain)
        colour = self.ok("report", "--color=always", self.path)
        self.assertIn("\033[1m", colour)
        self.assertEqual(re.sub("\033\\[[0-9;]*m", "", colour), plain)
        args = ["report", "--no-pager", self.path]
        for env, has_colour in (({"TERM": "xterm"}, True),
                                ({"TERM": "dumb"}, False),
                                ({"TERM": "xterm", "NO_COLOR": "1"}, False),
                                ({"TERM": "xterm", "NO_COLOR": ""}, True)):
            status, text, errors = in_terminal(args, env)
            self.assertEqual((status, errors), (0, b""))
            self.assertEqual("\033[1m" in text, has_colour, env)

    def test_pager(self):
        args = ["report", self.path]
        env = {"TERM": "dumb", "PAGER": "sed s/^/paged:/"}
        status, text, errors = in_terminal(args, env)
        self.assertEqual((status, errors), (0, b""))
        self.assertTrue(all(line.startswith("paged:")
                            for line in text.splitlines()))
        for env in ({"PAGER": ""}, {"PAGER": "cat"},
                    {"PAGER": "/no/such/pager"}):
            status, text, _ = in_terminal(args, {"TERM": "dumb", **env})
            self.assertEqual(status, 0)
            self.assertIn("LIVE AT THE PEAK", text)
        status, text, errors = in_terminal(
            args, {"TERM": "dumb", "PAGER": "true"})
        self.assertEqual((status, text, errors), (0, "", b""))

    def test_progress_is_shown_on_a_terminal_only(self):
        big = self.made(1500000, 500, 1e-4)
        self.assertGreater(os.path.getsize(big), 12 << 20)
        self.ok("info", big)  # nothing on stderr that is no terminal
        parent, child = pty.openpty()
        subprocess.run([common.BIN, "info", big], stdout=subprocess.DEVNULL,
                       stderr=child, env=common.ENV, check=True)
        os.close(child)
        text = terminal_read(parent).decode()
        self.assertRegex(text, r"^\r\033\[Kreading \S.*  \d+ %")
        self.assertTrue(text.endswith("\r\033[K"), text)

    def test_closed_pipe_is_quiet(self):
        big = self.made(200000, 500, 1e-4)
        for ignored in (False, True):
            process = subprocess.Popen(
                [common.BIN, "script", big], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env=common.ENV,
                restore_signals=not ignored)
            process.stdout.read(100)
            process.stdout.close()
            errors = process.stderr.read()
            process.stderr.close()
            self.assertEqual(errors, b"")
            self.assertIn(process.wait(), (0, -signal.SIGPIPE))

    def test_full_disk_is_said(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([common.BIN, "script", self.path],
                                    stdout=full, stderr=subprocess.PIPE,
                                    env=common.ENV)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"No space left", result.stderr)
        result = common.run("export", "-f", "--format=csv", "-o", "/dev/full",
                            self.path)
        self.assertEqual(result.returncode, 3)
        self.assertIn("No space left", result.stderr)
        self.assertTrue(os.path.exists("/dev/full"))

    def test_files_are_not_overwritten(self):
        out = self.write("out.csv", b"precious")
        result = common.run("export", "-o", out, self.path)
        self.assertEqual(result.returncode, 2)
        self.assertIn("-f overwrites it", result.stderr)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"precious")
        self.ok("export", "-f", "-o", out, self.path)
        with open(out) as f:
            self.assertTrue(f.readline().startswith("function,file,line,"))
        out = os.path.join(self.dir, "new.folded")
        self.ok("export", "-o", out, self.path)
        with open(out) as f:
            self.assertRegex(f.readline(), r"^\S.* \d+$")

    def test_a_trace_is_not_overwritten_by_what_is_made_of_it(self):
        with open(self.path, "rb") as f:
            before = f.read()
        for form in ("csv", "html", "pprof", "sqlite"):
            result = common.run("export", "-f", "--format=" + form, "-o",
                                self.path, self.path)
            self.assertEqual(result.returncode, 2)
            self.assertIn("is the trace to read", result.stderr)
            with open(self.path, "rb") as f:
                self.assertEqual(f.read(), before)

    def test_output_is_the_same_each_time(self):
        for args in (["report"], ["report", "--json"], ["info"],
                     ["script"]):
            self.assertEqual(self.ok(*args, self.path),
                             self.ok(*args, self.path))

    def test_json_is_one_object_with_its_schema(self):
        for path in (self.path, self.golden):
            got = json.loads(self.ok("report", "--json", path))
            self.assertEqual(got["schema"], 1)
            for key in ("allocated_bytes", "allocated_bytes_stderr",
                        "live_bytes", "live_bytes_stderr", "peak_bytes",
                        "peak_time_us", "leaked_bytes", "temporary_bytes",
                        "samples"):
                self.assertIsInstance(got[key], int, key)
            self.assertGreater(len(got["sites"]), 3)
            self.assertEqual(
                len(json.loads(self.ok("report", "--json", "--top=2",
                                       path))["sites"]), 2)

    def test_skip(self):
        name = self.json("--allocated", self.path)["sites"][0]["function"]
        again = self.json("--allocated", "--skip=other," + name, self.path)
        self.assertNotIn(name, [s["function"] for s in again["sites"]
                                if s["stacks"][0]["frames"][1:]])


if __name__ == "__main__":
    common.main()
