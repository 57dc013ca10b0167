import { buildKubernetes } from './install.ts';

/** `npx node infra/kubernetes/main.ts` builds the programs for the chart of tests/helm, and prints their folder. */
const folder = await buildKubernetes((line) => process.stderr.write(`${line}\n`));
process.stdout.write(`${folder}\n`);
