import { goalTable, grouped, markdownTable, formatted } from '../markdown.ts';
import type { RebuildResult, RebuildRow } from './result.ts';

/** The result as Markdown, aligned to be readable as plain text too. */
export function renderResult(result: RebuildResult): string {
  const { machine, rounds, rows, goals } = result;
  const count = rounds.length;
  const times = count === 1 ? 'Each ran once' : `Medians of ${count} rounds, with minimum and maximum`;
  const { cores, memoryGigabytes, node, kafka, store } = machine;
  return [
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the servers: Node ${node}, ` +
      `Kafka ${kafka}, ${store}. ${times}.`,
    rowTable(rows),
    figures(result),
    goalTable(goals),
  ]
    .map((part) => `${part}\n`)
    .join('\n');
}

const rowTable = (rows: RebuildRow[]): string =>
  markdownTable(
    [
      ...['', '', 'records', 'records/s', 'processor s per million', 'of the store', 'peak MB'],
      ...["reader's p99 before, ms", 'during, ms'],
    ],
    rows.map(({ name, title, records, ...spreads }) => [
      ...[`\`${name}\``, title, grouped(records, 0)],
      formatted(spreads.recordsPerSecond, 0),
      formatted(spreads.processorSecondsPerMillion, 0),
      formatted(spreads.storeProcessorSecondsPerMillion, 0),
      formatted(spreads.peakMegabytes, 0),
      formatted(spreads.readerP99BeforeMs, 1),
      formatted(spreads.readerP99DuringMs, 1),
    ]),
    2,
  );

function figures({ servedMegabytes, buildMegabytes, liveBehind, verifiedPerSecond }: RebuildResult): string {
  const disk = buildMegabytes
    ? `Documents and indexes of the complete build: ${formatted(buildMegabytes, 0)} MB, beside ` +
      `${formatted(servedMegabytes, 0)} MB of the served generation.`
    : 'The store does not report the size of its databases.';
  return (
    `${disk} Records that the live side had still to record as applied when the build was complete: ` +
    `${formatted(liveBehind, 0)}. \`rebuild verify\` compared ${formatted(verifiedPerSecond, 0)} documents a second, and ` +
    'found no difference.'
  );
}
