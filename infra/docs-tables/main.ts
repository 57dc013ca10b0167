import { readFile, writeFile } from 'node:fs/promises';
import { withTables } from './tables.ts';

/** `npm run readme`: puts the tables of settings, errors and reasons of dead letters into README.md as the code has them. */
const text = await readFile('README.md', 'utf8');
await writeFile('README.md', withTables(text));
