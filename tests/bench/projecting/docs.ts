import { mkdir, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { renderChart } from '../chart.ts';
import type { ProjectingResult } from './result.ts';
import { renderResult } from './table.ts';

const file = 'docs/benchmarks.md';
const chartFile = 'docs/benchmarks.svg';

/** Writes the table and the chart into `docs/`, formatted with the project's settings. */
export async function writeDocs(result: ProjectingResult): Promise<void> {
  await mkdir('docs', { recursive: true });
  const config = await resolveConfig(file);
  await writeFile(file, await format(page(result), { ...config, parser: 'markdown' }));
  await writeFile(chartFile, chartOf(result));
}

const chartOf = ({ contenders }: ProjectingResult): string =>
  renderChart(
    'Records per second from an empty database',
    contenders.map(({ name, title, recordsPerSecond }) => ({
      title,
      isOurs: name === 'projector',
      figure: recordsPerSecond,
    })),
  );

const page = (result: ProjectingResult): string => `# Benchmarks

This page shows how fast the projector applies a backlog from the beginning of the log, compared with other ways to write
the same records to the same store. It also shows how soon an event is readable while the projector follows live.
\`npm run bench -- --write-docs\` measures everything and writes this page. [benchmarks-rebuild.md](benchmarks-rebuild.md)
is about a rebuild beside readers, [benchmarks-serving.md](benchmarks-serving.md) about the API.

![Records per second by contender](benchmarks.svg)

${renderResult(result)}
## What is measured

- **Records**: one for each of 151,800 entities, from a seed, so that every run has the same ones: 19,800 tickets, 19,800
  conversations, 99,000 messages, 5,775 contacts, and the users, agents, tags, topics, channels, API keys and Q&As that they
  refer to. They are CloudEvents in JSON of about 0.7 KB, in gzip batches, on 11 topics with 3 partitions each.
- **Store**: each run has an empty database, and writes with \`w: majority\`, journaled. The broker, the store and the
  contender share the machine.
- **Time**: from the first consumed record to the last applied one. For the projector it starts when the group has assigned
  its partitions, and ends when the projector has recorded every partition as applied; it records that once a second, and
  at the end of a backlog. For the connector it starts with the first document seen, and documents present by then do not
  count. This excludes the start of the JVM, but not the seconds in which the JVM is still slow. **From process start**
  counts the start of the process as well.
- **Processor time**: of the contender's process and of the store's processes in the same time. **Peak memory**: the peak
  resident memory of the process since it started.
- **Live**: three of five events are new messages; the others update tickets and conversations, which refer to existing
  entities. One event of each request to the broker is sampled: the benchmark queries the store for it every 10 ms, and its
  time starts before it is passed to the producer.
- **Rounds**: each contender runs once in each round. The order rotates by one each round.

## The contenders

- \`bulk-write\`: kafkajs consumes three partitions at once, with one unordered \`bulkWrite\` of replacements for each batch.
  It has no joins, version checks or validation: a late record overwrites a newer one. It has the indexes of the API alone.
- \`connector\`: MongoDB's Kafka sink connector on a standalone worker, with three tasks and unordered bulk writes of
  replacements by the record's key. Other settings are defaults. It writes no sort keys, so its indexes, which are those of the
  projector, cost less.
- \`projector\`: this projector as a process, with all joins, indexes, guards and progress.

## Reproduce

\`\`\`sh
npm run bench                             # everything, three rounds
npm run bench -- --quick                  # once, with few records, in one or two minutes
npm run bench -- --only bulk-write,projector --rounds 5
npm run bench -- --json figures.json      # every figure of every run
\`\`\`

The benchmark starts a Kafka and a store as \`npm test\` does, or uses those of \`KAFKA_BROKERS\` and \`MONGODB_URL\`. It never
fails because of a time. Compare only figures of the same machine.
`;
