import { readFile, writeFile } from 'node:fs/promises';
import { pagesWithTables, withTables } from './tables.ts';

/** `npm run docs`: writes the generated tables into the pages of docs/, as the code has them. */
for (const path of pagesWithTables) await writeFile(path, withTables(await readFile(path, 'utf8')));
