"""A server under load: redis-benchmark's requests a second, exact and bare."""
import csv
import io
import os
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

COMMANDS = ("SET", "LPUSH", "HSET")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


def wait_for(port):
    for _ in range(100):
        got = subprocess.run(["redis-cli", "-p", port, "ping"],
                             capture_output=True, text=True)
        if "PONG" in got.stdout:
            return True
        time.sleep(0.1)
    return False


def load(kit, v):
    """command -> requests a second; the server alone runs as v."""
    port = free_port()
    n = "60000" if kit.is_quick else "300000"
    with tempfile.TemporaryDirectory() as folder, \
            open(os.path.join(folder, "log"), "w") as log:
        server = subprocess.Popen(
            ["redis-server", "--port", port, "--bind", "127.0.0.1", "--save",
             "", "--appendonly", "no", "--dir", folder],
            env={**os.environ, **v.env}, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log)
        try:
            if not wait_for(port):
                return {}
            text = subprocess.run(
                ["redis-benchmark", "-p", port, "-n", n, "-P", "16", "-c",
                 "20", "-r", "100000", "-d", "200", "-t", "set,lpush,hset",
                 "--csv"], capture_output=True, text=True).stdout
            subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"],
                           capture_output=True)
        finally:
            server.terminate()
            server.wait()
    return {r["test"].split()[0]: float(r["rps"])
            for r in csv.DictReader(io.StringIO(text))}


def shares(got, name):
    """command -> throughput over bare, median of the rounds"""
    return {c: statistics.median(a[c] / b[c]
                                 for a, b in zip(got[name], got["bare"])
                                 if c in a and c in b)
            for c in COMMANDS if any(c in r for r in got[name])}


def bench(kit, peer):
    if shutil.which("redis-server") is None or \
            shutil.which("redis-benchmark") is None:
        kit.table.note("redis: left out, redis-server and redis-tools are "
                       "not installed")
        return
    got = kit.sweep(kit.variants(), kit.rounds, lambda v: load(kit, v))
    mine = shares(got, "exact")
    if not mine:
        kit.table.note("redis: did not run")
        return
    other = shares(got, peer) if peer in got else {}
    for c in COMMANDS:
        bare = statistics.median(r[c] for r in got["bare"]) / 1e3
        kit.table.row("redis " + c, "K requests/s, exact", bare * mine[c],
                      "bare", bare, mine[c])
        kit.against("redis " + c, "throughput over bare", mine[c], peer,
                    other.get(c))
    mean = statistics.geometric_mean(mine.values())
    kit.against("redis", "throughput over bare", mean, peer,
                statistics.geometric_mean(other.values()) if other else None,
                0.85)
