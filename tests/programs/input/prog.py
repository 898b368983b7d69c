import collections
import json
import re
import threading

with open("data.json") as f:
    rows = json.load(f)
tags = collections.Counter(t for r in rows for t in r["tags"])
print(tags.most_common(3), sum(r["size"] for r in rows))
words = re.findall(r"\w+", open("text.txt").read().lower())
print(len(set(words)), len(json.dumps(rows, indent=2)))
sums = []
threads = [threading.Thread(target=lambda i=i: sums.append(
    sum(x * x for x in range(i * 1000)))) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(sums))
