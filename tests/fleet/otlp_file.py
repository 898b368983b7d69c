"""OTLP's request to store profiles, read field by field by the numbers of
opentelemetry-proto 1.11.0 (package v1development), and the rules that a strict
reader of such requests holds them to."""
from pprof_file import message

ANY = {1: ("string", "s"), 3: ("int", "v")}
KEY_VALUE = {1: ("key", "s"), 2: ("value", ANY)}
RESOURCE = {1: ("attributes", [KEY_VALUE])}
VALUE_TYPE = {1: ("type", "v"), 2: ("unit", "v")}
SAMPLE = {1: ("stack", "v"), 2: ("attributes", "V"), 3: ("link", "v"),
          4: ("values", "V")}
PROFILE = {1: ("type", VALUE_TYPE), 2: ("samples", [SAMPLE]),
           3: ("time", "f"), 4: ("duration", "v"),
           5: ("period_type", VALUE_TYPE), 6: ("period", "v"),
           7: ("id", "s")}
SCOPE = {1: ("name", "s"), 2: ("version", "s")}
SCOPE_PROFILES = {1: ("scope", SCOPE), 2: ("profiles", [PROFILE])}
RESOURCE_PROFILES = {1: ("resource", RESOURCE), 2: ("scopes",
                                                    [SCOPE_PROFILES])}
MAPPING = {1: ("start", "v"), 2: ("limit", "v"), 3: ("offset", "v"),
           4: ("filename", "v"), 5: ("attributes", "V")}
LINE = {1: ("function", "v"), 2: ("line", "v")}
LOCATION = {1: ("mapping", "v"), 2: ("address", "v"), 3: ("lines", [LINE])}
FUNCTION = {1: ("name", "v"), 2: ("system_name", "v"), 3: ("filename", "v")}
ATTRIBUTE = {1: ("key", "v"), 2: ("value", ANY), 3: ("unit", "v")}
STACK = {1: ("locations", "V")}
DICTIONARY = {1: ("mappings", [MAPPING]), 2: ("locations", [LOCATION]),
              3: ("functions", [FUNCTION]), 4: ("links", [{}]),
              5: ("strings", "S"), 6: ("attributes", [ATTRIBUTE]),
              7: ("stacks", [STACK])}
REQUEST = {1: ("resources", [RESOURCE_PROFILES]), 2: ("dictionary",
                                                      DICTIONARY)}


def read(data):
    return message(data, REQUEST)


def is_empty(entry):
    return not any(entry.values())


def faults(request):
    d = request["dictionary"]
    found = []

    def demand(holds, what):
        if not holds:
            found.append(what)

    def text(index):
        demand(0 <= index < len(d["strings"]), "string out of range")

    demand(request["resources"], "no resources")
    demand(d["strings"][0] == "", "string 0 is not empty")
    for name in ("mappings", "locations", "functions", "links", "attributes",
                 "stacks"):
        demand(d[name], "no entry 0 of " + name)
        demand(is_empty(d[name][0]), "entry 0 of %s is not empty" % name)
        demand(not any(map(is_empty, d[name][1:])) or name == "mappings",
               "a further entry of %s is empty" % name)
    for m in d["mappings"]:
        text(m["filename"])
        demand(all(0 < a < len(d["attributes"]) for a in m["attributes"]),
               "attribute out of range")
    for a in d["attributes"][1:]:
        text(a["key"])
        demand(a["value"] and a["value"]["string"], "attribute of no value")
    for f in d["functions"]:
        text(f["name"])
        text(f["filename"])
    for l in d["locations"]:
        demand(l["mapping"] < len(d["mappings"]), "mapping out of range")
        demand(all(0 < x["function"] < len(d["functions"])
                   for x in l["lines"]), "function out of range")
    for s in d["stacks"]:
        demand(all(0 < x < len(d["locations"]) for x in s["locations"]),
               "location out of range")
    for r in request["resources"]:
        keys = [a["key"].decode() for a in r["resource"]["attributes"]]
        demand(len(set(keys)) == len(keys), "attribute given twice")
        demand("service.name" in keys, "no service.name")
        for scope in r["scopes"]:
            for p in scope["profiles"]:
                demand(p["samples"], "profile of nothing")
                demand(len(p["id"]) == 16 and any(p["id"]), "bad id")
                demand(p["period_type"] is not None, "no period type")
                for s in p["samples"]:
                    demand(0 < s["stack"] < len(d["stacks"]),
                           "stack out of range")
                    demand(len(s["values"]) == 1, "not one value")
    return found


def profiles(request):
    """{type: profile}"""
    strings = request["dictionary"]["strings"]
    return {strings[p["type"]["type"]]: p
            for r in request["resources"] for s in r["scopes"]
            for p in s["profiles"]}


def names(request, sample):
    """Functions of a stack, innermost first."""
    d = request["dictionary"]
    return [d["strings"][d["functions"][line["function"]]["name"]]
            for number in d["stacks"][sample["stack"]]["locations"]
            for line in d["locations"][number]["lines"]]
