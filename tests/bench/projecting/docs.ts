import { mkdir, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { renderChart } from '../chart.ts';
import type { ProjectingResult } from './result.ts';
import { renderResult } from './table.ts';

const file = 'docs/benchmarks.md';
const chartFile = 'docs/benchmarks.svg';

/** Writes the table and the chart into `docs/`, formatted as the project's check wants it. */
export async function writeDocs(result: ProjectingResult): Promise<void> {
  await mkdir('docs', { recursive: true });
  const config = await resolveConfig(file);
  await writeFile(file, await format(page(result), { ...config, parser: 'markdown' }));
  await writeFile(chartFile, chartOf(result));
}

/** `discard` is left out: it stores nothing, and beside its bar the others would not be told apart. */
const chartOf = ({ contenders }: ProjectingResult): string =>
  renderChart(
    'Records per second from an empty database',
    contenders
      .filter(({ name }) => name !== 'discard')
      .map(({ name, title, recordsPerSecond }) => ({
        title,
        isOurs: name.startsWith('projector'),
        figure: recordsPerSecond,
      })),
  );

const page = (result: ProjectingResult): string => `# Benchmarks

How fast the projector applies a backlog from the beginning of the log, beside other ways to carry the same records into
the same store, and how soon an event is readable while it follows live. \`npm run bench -- --write-docs\` measures all of
it and writes this page; [benchmarks-serving.md](benchmarks-serving.md) is about the API.

![Records per second by contender](benchmarks.svg)

${renderResult(result)}
## What is measured

- **Records**: one for each of 46,000 entities, seeded, so that every run has the same ones: 6,000 tickets, 6,000
  conversations, 30,000 messages, 1,750 contacts, and the users, agents, tags, topics, channels, API keys and Q&As that they
  refer to. CloudEvents in JSON of about 0.7 KB, uncompressed, on 11 topics with 3 partitions each.
- **Store**: each run has an empty database with the projector's indexes, and writes with \`w: majority\`, journaled. The
  broker, the store and the contender share the machine.
- **Time**: from the first record consumed to the last one applied. For the projector it starts when the group has given out
  its partitions, and ends when it has recorded every partition as applied; it records that once a second, and
  at the end of a backlog. For the connector it starts with the first document seen, and what is there by then is
  not counted, so the start of the JVM is left out, though not the seconds in which it is still slow.
- **Processor time**: of the contender's process and of the store's processes in the same span. **Peak memory**: the most
  that the process was resident with since it started.
- **Live**: three of five events are new messages, the others update tickets and conversations, which refer to entities
  that are there. One event of each request to the broker is looked for in the store every 10 ms, from the moment before it is
  handed to the producer. **Writes** are counted by the documents' revisions.
- **Rounds**: each contender runs once a round, in an order that moves on by one each round.

## The contenders

- \`discard\`: kafkajs consumes three partitions at once and does nothing. It is the ceiling of the client.
- \`bulk-write\`: the same, and one unordered \`bulkWrite\` of replacements a batch. No joins, no check of versions, no
  validation: a record that comes late overwrites a newer one.
- \`connector\`: MongoDB's Kafka sink connector on a standalone worker, three tasks, replacements by the record's key in
  unordered bulks, everything else as it comes. It writes no sort keys, so its indexes cost less.
- \`update-one\`: one \`updateOne\` with \`upsert\` a message, over a tenth of the records.
- \`projector-N\`: this projector as a process, all joins, guards and progress included, with the same number of records of
  N organizations.

## Reproduce

\`\`\`sh
npm run bench                             # everything, three rounds
npm run bench -- --quick                  # once, with few records, in a minute or two
npm run bench -- --only bulk-write,projector-3 --rounds 5
npm run bench -- --json figures.json      # every figure of every run
\`\`\`

It starts a Kafka and a store as \`npm test\` does, or uses those of \`KAFKA_BROKERS\` and \`MONGODB_URL\`. It never fails on a
time; compare figures of one machine only.
`;
