const fs = require("fs");
const counts = new Map();
for (const w of fs.readFileSync("words.txt", "utf8").split("\n"))
    counts.set(w, (counts.get(w) || 0) + 1);
const rows = JSON.parse(fs.readFileSync("data.json", "utf8"));
console.log(counts.size, rows.length, rows.reduce((s, r) => s + r.size, 0));
console.log(require("zlib").gzipSync(Buffer.alloc(100000, "abc")).length);
