"""The inputs of the programs: small files that are the same each time."""
import math
import os
import shutil
import struct
import subprocess


def numbers(seed):
    """Numbers below 2^31 from a fixed seed."""
    x = seed
    while True:
        x = (x * 6364136223846793005 + 1442695040888963407) % 2 ** 64
        yield x >> 33


def words(n, seed=1):
    syllables = ("ka", "lo", "mi", "ter", "us", "an", "be", "qui", "do", "sen")
    r = numbers(seed)
    return ["".join(syllables[next(r) % 10] for _ in range(1 + next(r) % 4))
            for _ in range(n)]


def text(n_lines):
    w = words(n_lines * 9)
    return "".join(" ".join(w[9 * i:9 * i + 9]).capitalize() + ".\n"
                   for i in range(n_lines))


def table(n_rows, separator):
    r = numbers(2)
    rows = [("id", "name", "group", "amount")]
    rows += [(i, w, "g%d" % (next(r) % 7), next(r) % 10000)
             for i, w in enumerate(words(n_rows, 3))]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def json_text(n):
    r = numbers(4)
    rows = ['{"id": %d, "name": "%s", "tags": ["%s", "x"], "size": %d}' % (
        i, w, w[:2], next(r) % 1000) for i, w in enumerate(words(n, 5))]
    return "[\n" + ",\n".join(rows) + "\n]\n"


def xml_text(n):
    rows = ['<item id="i%d"><name>%s</name></item>\n' % (i, w)
            for i, w in enumerate(words(n, 6))]
    return '<?xml version="1.0"?>\n<list>\n' + "".join(rows) + "</list>\n"


def html_text(n):
    rows = ["<p>%s <a href=\"#x\">%s</a></p>\n" % (" ".join(words(20, i)), w)
            for i, w in enumerate(words(n, 7))]
    return ("<!DOCTYPE html>\n<html><head><title>words</title></head><body>\n"
            "<h1>Words</h1>\n" + "".join(rows) + "</body></html>\n")


def picture(width, height):
    """A picture as PPM."""
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            pixels += bytes((x * 255 // width, y * 255 // height,
                             (x * y) & 255))
    return b"P6\n%d %d\n255\n" % (width, height) + bytes(pixels)


def sound(seconds):
    """A tone as WAV, 8,000 samples a second."""
    n = int(8000 * seconds)
    data = b"".join(struct.pack("<h", int(9000 * math.sin(i * 0.35)))
                    for i in range(n))
    return (b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " +
            struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" +
            struct.pack("<I", len(data)) + data)


def repository(folder, env):
    """A git repository of three commits."""
    env = {**env, "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env.update({"GIT_%s_NAME" % role: "A", "GIT_%s_EMAIL" % role: "a@b",
                    "GIT_%s_DATE" % role: "1700000000 +0000"})

    def git(*args):
        subprocess.run(["git", *args], cwd=folder, env=env, check=True)

    os.mkdir(folder)
    git("init", "-q", "-b", "main")
    for i in range(3):
        with open(os.path.join(folder, "a.txt"), "a") as f:
            f.write(text(40 * (i + 1)))
        git("add", "a.txt")
        git("commit", "-q", "-m", "commit %d" % i)


def make(committed, folder, env):
    """Makes the folder of all inputs: those committed, and those made."""
    shutil.copytree(committed, folder)
    files = {
        "text.txt": text(600), "words.txt": "\n".join(words(4000)) + "\n",
        "small.txt": text(40), "table.csv": table(2000, ","),
        "table.tsv": table(2000, "\t"), "data.json": json_text(1000),
        "data.xml": xml_text(1000), "page.html": html_text(60),
        "picture.ppm": picture(96, 64), "sound.wav": sound(1),
        "numbers.txt": "".join("%d\n" % n for n, _ in
                               zip(numbers(8), range(3000))),
    }
    for name, data in files.items():
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
    if shutil.which("git", path=env["PATH"]):
        repository(os.path.join(folder, "repo"), env)
    for top, folders, names in os.walk(folder):  # the same dates each time
        for name in folders + names:
            os.utime(os.path.join(top, name), (1700000000, 1700000000))
