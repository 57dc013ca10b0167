import { readFile, writeFile } from 'node:fs/promises';
import { chartSchema } from '../helm/values.ts';
import { dashboardJson } from '../monitoring/dashboard.ts';
import { pagesWithTables, withTables } from './tables.ts';

/**
 * `npm run docs`: writes the generated tables of docs/, the dashboard, and the schema of the chart's values, as the code
 * has them.
 */
for (const path of pagesWithTables) await writeFile(path, withTables(await readFile(path, 'utf8')));
await writeFile('infra/monitoring/dashboard.json', dashboardJson());
await writeFile('infra/helm/values.schema.json', `${JSON.stringify(chartSchema(), null, 2)}\n`);
