"""The tables of a trace, from what was written for databases: a file of SQLite
read by Python's library, or the rows that were sent to ClickHouse, whose
TabSeparated is read here."""
import math
import os
import re
import sqlite3
import tempfile

TABLES = ("functions", "frames", "stacks", "threads", "samples", "figures",
          "traces")


def connect(path):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    return database


def of_file(path):
    """{table: [{column: value}]}, in the order of the rows."""
    database = connect(path)
    try:
        if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise AssertionError("SQLite finds it damaged", path)
        return {t: [dict(row) for row in
                    database.execute("SELECT * FROM %s" % t)]
                for t in TABLES}
    finally:
        database.close()


def of_bytes(data):
    with tempfile.TemporaryDirectory(prefix="aliquot-test-") as directory:
        path = os.path.join(directory, "tables.sqlite")
        with open(path, "wb") as f:
            f.write(data)
        return of_file(path)


# ---- ClickHouse's side ---------------------------------------------------

def schema(text):
    """{table: {column: type}} of statements that make ClickHouse's tables."""
    found = {}
    for name, columns in re.findall(
            r"CREATE TABLE IF NOT EXISTS (\w+) \((.*?)\n\) ENGINE", text, re.S):
        found[name] = dict(column.split() for column in columns.split(","))
    return found


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n"}.get(
        m.group(1), m.group(1)), text)


READERS = {"UInt64": int, "Int64": int, "UInt8": int, "Float64": float,
           "String": unescaped, "Date": str}


def of_insert(query, body, types):
    """(table, rows) of one INSERT and its rows."""
    table, names = re.fullmatch(
        r"INSERT INTO (\w+) \(([\w, ]+)\) FORMAT TabSeparated", query).groups()
    names = names.split(", ")
    if names != list(types[table]):
        raise AssertionError("other columns than the table has", query)
    readers = [READERS[types[table][name]] for name in names]
    rows = []
    for line in body.decode().split("\n")[:-1]:
        cells = line.split("\t")
        if len(cells) != len(names):
            raise AssertionError("a row of another length", table, line)
        rows.append({name: read(cell) for name, read, cell in
                     zip(names, readers, cells)})
    return table, rows


# ---- what they say -------------------------------------------------------

IS_OF = {
    "allocated": lambda row: True,
    "live": lambda row: row["free_us"] == 0,
    "peak": lambda row: row["is_at_peak"] == 1,
    "temporary": lambda row: row["free_us"] != 0 and row["life_us"] < 1000,
}


def totals(tables):
    """Keys of `report --json`."""
    found = {}
    for measure, is_of in IS_OF.items():
        rows = [row for row in tables["samples"] if is_of(row)]
        of_peak = "peak_" if measure == "peak" else ""
        for key, column in (("bytes", of_peak + "bytes"),
                            ("objects", of_peak + "objects"),
                            ("samples", "sampled_words")):
            if of_peak and key == "samples":
                continue  # a block with several colours counts for one
            found["%s_%s" % (measure, key)] = math.floor(
                math.fsum(row[column] for row in rows) + 0.5)
    return found


KEYS = ("bytes", "bytes_stderr", "bytes_low", "bytes_high", "objects",
        "objects_stderr", "objects_low", "objects_high", "sampled_blocks")


def figures(tables):
    """{None or (name, file, module, line, is_mapping): keys of the report}"""
    names, found = frames(tables), {}
    for row in tables["figures"]:
        site = names[row["site_id"]] + (row["is_mapping"] == 1,) \
            if row["site_id"] != 0 else None
        for key in KEYS:
            found.setdefault(site, {})["%s_%s" % (row["measure"], key)] = \
                math.floor(row[key] + 0.5)
    return found


def reported(report):
    """The same of `report --json --group=line`, where there is a block."""
    sites = {None: report}
    for s in report["sites"]:
        if s["allocated_sampled_blocks"] > 0:
            sites[s["function"], s["file"], s["module"], s["line"],
                  s["is_mapping"]] = s
    return {site: {"%s_%s" % (m, k): o["%s_%s" % (m, k)]
                   for m in IS_OF for k in KEYS}
            for site, o in sites.items()}


def frames(tables):
    """{frame_id: (name, file, module, line)}"""
    functions = {f["function_id"]: (f["name"], f["file"], f["module"])
                 for f in tables["functions"]}
    return {f["frame_id"]: functions[f["function_id"]] + (f["line"],)
            for f in tables["frames"]}


def stacks(tables):
    """{stack_id: [frame, the innermost first]}; no position is missing."""
    names = frames(tables)
    found = {}
    for row in sorted(tables["stacks"],
                      key=lambda r: (r["stack_id"], r["position"])):
        stack = found.setdefault(row["stack_id"], [])
        if row["position"] != len(stack):
            raise AssertionError("a frame is missing", row)
        stack.append(names[row["frame_id"]])
    return found
