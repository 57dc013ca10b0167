import { readFile, writeFile } from 'node:fs/promises';
import { dashboardJson } from '../monitoring/dashboard.ts';
import { pagesWithTables, withTables } from './tables.ts';

/** `npm run docs`: writes the generated tables of docs/ and the dashboard, as the code has them. */
for (const path of pagesWithTables) await writeFile(path, withTables(await readFile(path, 'utf8')));
await writeFile('infra/monitoring/dashboard.json', dashboardJson());
