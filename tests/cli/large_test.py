"""Ten million events in bounded memory."""
import subprocess
import sys

import common

EVENTS = 10_000_000
LIVE = 20_000
MEMORY_KIB = 32 * 1024


def peak_kib(*args):
    """Runs the command in a child of its own; its peak resident size."""
    code = ("import resource, subprocess, sys\n"
            "r = subprocess.run(sys.argv[1:], stdin=sys.stdin,"
            " stdout=subprocess.DEVNULL)\n"
            "print(r.returncode,"
            " resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    make = subprocess.Popen([common.MAKE_TRACE, str(EVENTS), str(LIVE),
                             "1e-5"], stdout=subprocess.PIPE)
    text = subprocess.run([sys.executable, "-B", "-c", code, common.BIN,
                           *args, "-"], stdin=make.stdout,
                          capture_output=True, check=True).stdout
    make.stdout.close()
    make.wait()
    status, kib = map(int, text.split())
    return status, kib


class Large(common.Case):
    def test_memory_is_bounded_by_what_is_alive(self):
        status, kib = peak_kib("report")
        self.assertEqual(status, 0)
        self.assertLess(kib, MEMORY_KIB)
        sys.stderr.write("%d events in %d KiB\n" % (EVENTS, kib))


if __name__ == "__main__":
    common.main()
