import { mkdir, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import type { RebuildResult } from './result.ts';
import { renderResult } from './table.ts';

const file = 'docs/benchmarks-rebuild.md';

/** Writes the page into `docs/`, formatted with the project's settings. */
export async function writeDocs(result: RebuildResult): Promise<void> {
  await mkdir('docs', { recursive: true });
  const config = await resolveConfig(file);
  await writeFile(file, await format(page(result), { ...config, parser: 'markdown' }));
}

const page = (result: RebuildResult): string => `# Benchmarks of a rebuild

This page shows how fast a [rebuild](rebuilding.md) applies the log beside a generation that is served and follows live
changes, and what readers notice of it. \`npm run bench -- rebuild --write-docs\` measures everything and writes this page.
[benchmarks.md](benchmarks.md) is about the projector without readers.

${renderResult(result)}
## What is measured

- **Records**: those of [benchmarks.md](benchmarks.md), of three organizations, and the live changes of before the start.
- **Live side**: the projector of generation 1 follows 100 events a second, one API replica serves the generation, and a
  reader requests \`GET /v1/tickets\` 50 times a second, whether or not earlier requests are answered. The time of a
  request counts from when it was due. **Before** is the time just before each run, ten seconds long;
  **during** begins with the start of the process.
- **Rebuild**: \`rebuild start\`, then one projector with \`GENERATION=2\`. The time starts when its group has assigned the
  partitions, and ends when it has recorded the log's ends of the start as applied. Each round then runs \`rebuild verify\`,
  and fails if a document differs.
- **One at a time**: an event is published once the one before is readable in the store, so that each is a batch of its own;
  no other live changes go on. Most of this time is spent on waiting for the broker and for the store.
- **Beside the live side**, the broker, the store, both projectors, the API and the reader share the cores; \`bulk-write\`
  and \`projector\` have them for themselves. So \`bulk-write-beside\` says what the live side costs any writer, and
  \`projector\` what a rebuild reaches where the cores are free. The reader's time during \`bulk-write-beside\` includes the
  removal of its database. A rebuild loads one batch at a time beside a served generation, which costs speed for readers'
  latency; a second projector loads as many again. \`rebuild start --pace\` limits it further.
- **Rounds**: everything runs once in each round, the runs of a pair in alternating order. A ratio is the median of the
  rounds' ratios.

## Reproduce

\`\`\`sh
npm run bench -- rebuild                        # three rounds
npm run bench -- rebuild --quick                # once, with few records, in one or two minutes
npm run bench -- rebuild --records 1000000      # a longer log
npm run bench -- rebuild --json figures.json    # every figure of every round
\`\`\`
`;
