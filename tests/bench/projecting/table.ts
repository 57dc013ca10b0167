import { goalTable, grouped, markdownTable, formatted } from '../markdown.ts';
import type { ContenderResult, ProjectingResult } from './result.ts';

/** The result as Markdown, aligned to be readable as plain text too. */
export function renderResult(result: ProjectingResult): string {
  const { machine, rounds, contenders, leftOut, live, goals } = result;
  const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
  const { cores, memoryGigabytes, node, kafka, store } = machine;
  return [
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the servers: Node ${node}, ` +
      `Kafka ${kafka}, ${store}. ${times}.`,
    contenders.length > 0 ? contenderTable(contenders) : null,
    ...leftOut.map(({ name, reason }) => `Left out: \`${name}\`, because it ${reason}.`),
    live && liveTable(live),
    live &&
      `Idle: ${formatted(live.idlePercent, 1)} % of a core with ${live.partitions} partitions and no traffic. ` +
        `Peak memory while live: ${formatted(live.peakMegabytes, 0)} MB.`,
    goalTable(goals),
  ]
    .filter((part) => part !== null)
    .map((part) => `${part}\n`)
    .join('\n');
}

const contenderTable = (contenders: ContenderResult[]): string =>
  markdownTable(
    [
      'contender',
      '',
      'records',
      'records/s',
      'from process start',
      'processor s per million',
      'of the store',
      'peak MB',
    ],
    contenders.map(({ name, title, runs, ...figures }) => [
      `\`${name}\``,
      title,
      grouped(runs[0]?.records ?? 0, 0),
      formatted(figures.recordsPerSecond, 0),
      formatted(figures.recordsPerSecondFromStart, 0),
      formatted(figures.processorSecondsPerMillion, 0),
      formatted(figures.storeProcessorSecondsPerMillion, 0),
      formatted(figures.peakMegabytes, 0),
    ]),
    2,
  );

const liveTable = ({ rates }: NonNullable<ProjectingResult['live']>): string =>
  markdownTable(
    ['events/s', 'published/s', 'readable after, p50 ms', 'p99 ms', 'sampled', 'unseen'],
    rates.map((rate) => [
      grouped(rate.eventsPerSecond, 0),
      formatted(rate.published, 0),
      formatted(rate.p50Ms, 0),
      formatted(rate.p99Ms, 0),
      grouped(rate.samples, 0),
      grouped(rate.unseen, 0),
    ]),
    0,
  );
