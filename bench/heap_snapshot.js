// heap_snapshot.js -- the same graph in node: how long its snapshot stops it
//
//   node bench/heap_snapshot.js MILLIONS     of objects, as bench/heap_snapshot.c
const v8 = require("v8");
const fs = require("fs");

const millions = Number(process.argv[2] || 1);
let list = null;
for (let i = 0; i < millions * 1e6 / 2; i++) {
    const held = i % 3 === 0 ? [1, 2, 3] : i % 3 === 1 ? { text: i } : { number: i + 0.5 };
    list = { held, list };
}
const wall = process.hrtime.bigint();
const cpu = process.cpuUsage();
const file = v8.writeHeapSnapshot("/dev/shm/heap_snapshot.heapsnapshot");
const used = process.cpuUsage(cpu);
const ms = Number(process.hrtime.bigint() - wall) / 1e6;
console.log(`node ${process.version}  ${millions} million objects  stop ${ms.toFixed(0)} ms, ` +
    `${(ms / millions).toFixed(0)} a million  cpu ` +
    `${((used.user + used.system) / 1e3 / millions).toFixed(0)} a million  ` +
    `${(fs.statSync(file).size / millions / 1e6).toFixed(0)} bytes an object`);
fs.unlinkSync(file);
if (list === null)
    throw new Error("nothing was held");
