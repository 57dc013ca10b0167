import { mkdir, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { renderChart } from '../chart.ts';
import type { ServingResult } from './result.ts';
import { renderResult } from './table.ts';

const file = 'docs/benchmarks-serving.md';
const chartFile = 'docs/benchmarks-serving.svg';

/** Writes the table and the chart into `docs/`, formatted with the project's settings. */
export async function writeDocs(result: ServingResult): Promise<void> {
  await mkdir('docs', { recursive: true });
  const config = await resolveConfig(file);
  await writeFile(file, await format(page(result), { ...config, parser: 'markdown' }));
  await writeFile(chartFile, chartOf(result));
}

const chartOf = ({ contenders }: ServingResult): string =>
  renderChart(
    'Requests per second for a list of 20 tickets',
    contenders.map(({ name, title, endpoints }) => ({
      title,
      isOurs: name.startsWith('api'),
      figure: endpoints.find(({ endpoint }) => endpoint === 'tickets')?.requestsPerSecond ?? null,
    })),
  );

const page = (result: ServingResult): string => `# Benchmarks of serving

This page shows the cost of a request, compared with a minimal server and with other ways to write the same endpoints.
\`npm run bench -- serving --write-docs\` measures everything and writes this page.

![Requests per second by contender](benchmarks-serving.svg)

${renderResult(result)}
## What is measured

- **Contenders**: all read the same index ranges of the same store and send the same JSON, except for the cursor. \`bare\`
  and \`fastify\` are in \`tests/bench/serving/servers\`. This API runs as deployed, with keys, rate limit
  headers, validation of every parameter, access log and request traces. The benchmark reads and drops its log.
- **Requests**: one client process on the same machine sends them over keep-alive connections, each as soon as the last one
  is answered. Concurrent requests read different ids. The client takes its share of the cores. **Processor time** is the
  contender's alone.
- **Places**: a page of 20 at the start, in the middle and at the end of a list, one request after the other.
- **Threads**: a conversation retrieved with all of its messages, one request after the other.
- **Peak memory**: of one process, after all endpoints and a slice with 256 connections.
- **Rounds**: each contender runs once in each round. The order rotates by one each round. A figure relative to another
  contender is the median of the rounds' ratios.

## Reproduce

\`\`\`sh
npm run bench -- serving                             # everything, three rounds
npm run bench -- serving --quick                     # once, with few documents, in one or two minutes
npm run bench -- serving --only bare api --rounds 5
npm run bench -- serving --json figures.json         # every figure of every slice
\`\`\`
`;
