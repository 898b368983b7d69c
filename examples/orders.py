#!/usr/bin/env python3
"""Who spent most in 60,000 orders?  Two ways to keep them, to be compared:
dicts, as the JSON parser makes them, or pairs of what is asked for.

    PYTHONMALLOC=malloc aliquot record -- /usr/bin/python3 orders.py dicts

usage: orders.py dicts|pairs"""
import collections
import json
import random
import sys


def lines():
    r = random.Random(1)
    for i in range(60000):
        items = [{"sku": "s%05d" % r.randrange(9000), "n": r.randrange(1, 9),
                  "cents": r.randrange(9000)} for _ in range(r.randrange(1, 6))]
        yield json.dumps({"id": i, "customer": "c%04d" % r.randrange(2000),
                          "items": items})


def cents(order):
    return sum(i["n"] * i["cents"] for i in order["items"])


spent = collections.Counter()
orders = map(json.loads, lines())
if sys.argv[1] == "dicts":
    for order in list(orders):
        spent[order["customer"]] += cents(order)
else:
    for customer, total in [(o["customer"], cents(o)) for o in orders]:
        spent[customer] += total
print(*spent.most_common(3))
