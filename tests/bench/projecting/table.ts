import { goalTable, grouped, markdownTable, shown } from '../markdown.ts';
import type { ContenderResult, ProjectingResult } from './result.ts';

/** The whole result as Markdown, aligned so that it reads as plain text too. */
export function renderResult(result: ProjectingResult): string {
  const { machine, rounds, contenders, leftOut, live, goals } = result;
  const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with the least and the most`;
  const { cores, memoryGigabytes, node, kafka, store } = machine;
  return [
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the servers: Node ${node}, ` +
      `Kafka ${kafka}, ${store}. ${times}.`,
    contenders.length > 0 ? contenderTable(contenders) : null,
    ...leftOut.map(({ name, reason }) => `Left out: \`${name}\`, since it ${reason}.`),
    live && liveTable(live),
    live &&
      `Idle: ${shown(live.idlePercent, 1)} % of a core with ${live.partitions} partitions and no traffic. ` +
        `Peak memory while live: ${shown(live.peakMegabytes, 0)} MB.`,
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
      'processor s per million',
      'of the store',
      'peak MB',
      'writes a record',
    ],
    contenders.map(({ name, title, runs, ...figures }) => [
      `\`${name}\``,
      title,
      grouped(runs[0]?.records ?? 0, 0),
      shown(figures.recordsPerSecond, 0),
      shown(figures.processorSecondsPerMillion, 0),
      shown(figures.storeProcessorSecondsPerMillion, 0),
      shown(figures.peakMegabytes, 0),
      shown(figures.writesPerRecord, 2),
    ]),
    2,
  );

const liveTable = ({ rates }: NonNullable<ProjectingResult['live']>): string =>
  markdownTable(
    ['events/s', 'published/s', 'readable after, p50 ms', 'p99 ms', 'writes an event', 'sampled', 'unseen'],
    rates.map((rate) => [
      grouped(rate.eventsPerSecond, 0),
      shown(rate.published, 0),
      shown(rate.p50Ms, 0),
      shown(rate.p99Ms, 0),
      shown(rate.writesPerEvent, 2),
      grouped(rate.samples, 0),
      grouped(rate.unseen, 0),
    ]),
    0,
  );
