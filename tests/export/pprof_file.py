"""pprof's profile.proto, read field by field, and the rules engines hold it
to.  A decoder of its own, so that a slip of the encoder is not undone by the
same library."""
import gzip
import struct

# Field numbers and kinds: v varint, f fixed64, V repeated varint, s text, S
# repeated text, a dict a message, a list of one dict a repeated message.
VALUE_TYPE = {1: ("type", "v"), 2: ("unit", "v")}
LABEL = {1: ("key", "v"), 2: ("str", "v"), 3: ("num", "v"),
         4: ("num_unit", "v")}
SAMPLE = {1: ("location_id", "V"), 2: ("value", "V"), 3: ("label", [LABEL])}
MAPPING = {1: ("id", "v"), 2: ("start", "v"), 3: ("limit", "v"),
           4: ("offset", "v"), 5: ("filename", "v"), 6: ("build_id", "v"),
           7: ("has_functions", "v"), 8: ("has_filenames", "v"),
           9: ("has_line_numbers", "v"), 10: ("has_inline_frames", "v")}
LINE = {1: ("function_id", "v"), 2: ("line", "v")}
LOCATION = {1: ("id", "v"), 2: ("mapping_id", "v"), 3: ("address", "v"),
            4: ("line", [LINE]), 5: ("is_folded", "v")}
FUNCTION = {1: ("id", "v"), 2: ("name", "v"), 3: ("system_name", "v"),
            4: ("filename", "v"), 5: ("start_line", "v")}
PROFILE = {1: ("sample_type", [VALUE_TYPE]), 2: ("sample", [SAMPLE]),
           3: ("mapping", [MAPPING]), 4: ("location", [LOCATION]),
           5: ("function", [FUNCTION]), 6: ("string_table", "S"),
           7: ("drop_frames", "v"), 8: ("keep_frames", "v"),
           9: ("time_nanos", "v"), 10: ("duration_nanos", "v"),
           11: ("period_type", VALUE_TYPE), 12: ("period", "v"),
           13: ("comment", "V"), 14: ("default_sample_type", "v")}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            yield key >> 3, signed(value)
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif key & 7 == 2:
            n, at = varint(data, at)
            if at + n > len(data):
                raise ValueError("a field ends behind its message")
            yield key >> 3, data[at:at + n]
            at += n
        else:
            raise ValueError("wire type %d is not used here" % (key & 7))


def message(data, shape):
    out = {name: [] if isinstance(kind, list) or kind in ("V", "S") else
           None if isinstance(kind, dict) else 0
           for name, kind in shape.values()}
    for number, value in fields(data):
        name, kind = shape[number]
        if isinstance(kind, list):
            out[name].append(message(value, kind[0]))
        elif isinstance(kind, dict):
            out[name] = message(value, kind)
        elif kind == "S":
            out[name].append(value.decode())
        elif kind == "V" and isinstance(value, bytes):
            at = 0
            while at < len(value):
                one, at = varint(value, at)
                out[name].append(signed(one))
        elif kind == "V":
            out[name].append(value)
        else:
            out[name] = value
    return out


def read(data):
    """The profile, its size before compression put beside it."""
    flags, mtime = struct.unpack_from("<BI", data, 3)
    if flags or mtime:
        raise ValueError("the gzip header has a name or a time")
    plain = gzip.decompress(data)
    profile = message(plain, PROFILE)
    profile["bytes"] = len(plain)
    return profile


def types(profile):
    text = profile["string_table"]
    return [(text[t["type"]], text[t["unit"]])
            for t in profile["sample_type"]]


def totals(profile):
    return dict(zip((t for t, _ in types(profile)),
                    map(sum, zip(*(s["value"] for s in profile["sample"])))))


def stack(profile, sample):
    """(function, file, line) of each frame, innermost first; a location
    without lines is its address."""
    text = profile["string_table"]
    for number in sample["location_id"]:
        location = profile["location"][number - 1]
        if not location["line"]:
            yield location["address"], None, None
        for line in location["line"]:
            f = profile["function"][line["function_id"] - 1]
            yield text[f["name"]], text[f["filename"]], line["line"]


PYROSCOPE = {"stacks": 16000, "depth": 1000, "bytes": 4 << 20, "labels": 100}


def faults(profile):
    """What a strict reader would object to: Parca's rules, the limits of
    Pyroscope, and what all agree on."""
    text = profile["string_table"]
    found = []

    def demand(holds, what, *where):
        if not holds:
            found.append((what, *where))

    def is_string(index, *where):
        demand(0 <= index < len(text), "string out of range", *where)

    demand(text and text[0] == "", "string 0 is not empty")
    demand(len(set(text)) == len(text), "a string is there twice")
    demand(profile["sample_type"], "no sample types")
    demand(profile["period_type"], "no period type")
    for table in ("mapping", "location", "function"):
        for i, entry in enumerate(profile[table]):
            demand(entry["id"] == i + 1, table + " ids not in order", i)
    for i, m in enumerate(profile["mapping"]):
        is_string(m["filename"], "mapping", i)
        is_string(m["build_id"], "mapping", i)
        demand(m["start"] < m["limit"] or m["limit"] == 0,
               "mapping of no bytes", i)
    for i, f in enumerate(profile["function"]):
        for key in ("name", "system_name", "filename"):
            is_string(f[key], "function", i)
        demand(f["name"] != 0, "function without a name", i)
    for i, l in enumerate(profile["location"]):
        demand(0 <= l["mapping_id"] <= len(profile["mapping"]),
               "location in no mapping", i)
        demand(l["line"] or l["address"], "location that is nowhere", i)
        for line in l["line"]:
            demand(1 <= line["function_id"] <= len(profile["function"]),
                   "line in no function", i)
        if l["mapping_id"] and l["address"]:
            m = profile["mapping"][l["mapping_id"] - 1]
            demand(m["start"] <= l["address"] < m["limit"],
                   "address outside of its mapping", i)
            demand(l["line"] or not m["has_functions"],
                   "mapping claims functions and has not all", i)
    seen = set()
    for i, s in enumerate(profile["sample"]):
        demand(len(s["value"]) == len(profile["sample_type"]),
               "not one value a type", i)
        demand(all(v >= 0 for v in s["value"]), "negative value", i)
        demand(any(s["value"]), "sample of nothing", i)
        demand(s["location_id"], "sample without a stack", i)
        demand(len(s["location_id"]) <= PYROSCOPE["depth"],
               "stack too deep", i)
        demand(len(s["label"]) <= PYROSCOPE["labels"], "labels", i)
        for number in s["location_id"]:
            demand(1 <= number <= len(profile["location"]),
                   "sample at no location", i)
        for label in s["label"]:
            demand(label["key"] != 0, "label without a key", i)
            demand(label["str"] == 0, "text label", i)
        seen.add(tuple(s["location_id"]))
    demand(len(seen) == len(profile["sample"]), "a stack is there twice")
    demand(len(profile["sample"]) <= PYROSCOPE["stacks"], "too many stacks")
    demand(profile["bytes"] <= PYROSCOPE["bytes"], "too large")
    return found
