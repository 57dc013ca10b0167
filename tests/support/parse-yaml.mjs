import { parseYaml } from '@redocly/openapi-core';
import { readFileSync } from 'node:fs';

/** Prints the YAML file at a path as JSON. A program of its own, as the parser is an ES module. */
const [path = ''] = process.argv.slice(2);
console.log(JSON.stringify(parseYaml(readFileSync(path, 'utf8'))));
