// validate.js MODULES SCHEMA FILE -- is the file what the schema says?
// Prints what is wrong and exits with 1.
"use strict";
const fs = require("fs");
const path = require("path");
const [modules, schema, file] = process.argv.slice(2);
const Ajv = require(path.join(modules, "ajv"));
const ajv = new Ajv({ strict: false, allErrors: true });
const read = (name) => JSON.parse(fs.readFileSync(name, "utf8"));
const validate = ajv.compile(read(schema));
if (!validate(read(file))) {
  console.log(ajv.errorsText(validate.errors).slice(0, 2000));
  process.exit(1);
}
