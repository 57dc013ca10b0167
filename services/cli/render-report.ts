import { counted } from '../../shared/runtime/counted.ts';
import type { Finding } from '../operations/findings.ts';
import type { PartitionFacts, TopicFacts } from '../operations/partitions.ts';
import { followsWithinSeconds, progressText } from '../operations/progress-text.ts';
import type { GenerationReport, Report } from '../operations/report.ts';
import { table } from './output.ts';

type Options = {
  /** Lists all partitions instead of those that lag. */
  partitions: boolean;
};

/** The verdict, the findings with their remedies, and each generation with its topics. */
export const renderReport = (report: Report, options: Options): string =>
  [
    `${report.sentence}\n`,
    ...report.findings.map((one) => renderFinding(one)),
    '\n',
    report.generations.map((one) => renderGeneration(one, options)).join('\n'),
  ].join('');

/** `attention  dead letters: 3`, and below it the command that helps. */
export const renderFinding = ({ severity, text, remedy }: Finding, label: string = severity): string => {
  const line = `  ${(severity === 'progress' && label === severity ? 'next' : label).padEnd(9)}  ${text}\n`;
  return remedy === null ? line : `${line}  ${''.padEnd(9)}  ${remedy}\n`;
};

function renderGeneration(one: GenerationReport, { partitions }: Options): string {
  const { number, state, condition, topics } = one;
  const shown = condition === state ? state : `${condition} (${state})`;
  const lagging = one.partitions.filter(
    ({ lag, lagSeconds }) => lag !== 0 && (lagSeconds ?? Infinity) >= followsWithinSeconds,
  );
  const listed = partitions ? one.partitions : lagging;
  return [
    `generation ${number}  ${shown}, lag ${seconds(one.lagSeconds)}, ${recordsLeft(one)}\n`,
    ...one.findings.map((finding) => renderFinding(finding)),
    topics.length > 0 ? progressTable('topic', topics, topics) : '',
    listed.length > 0 ? `\n${progressTable('partition', listed, topics)}` : '',
  ].join('');
}

/** The number of records that a generation has yet to apply, in words. */
const recordsLeft = ({ state, lag, afterLoad }: Pick<GenerationReport, 'state' | 'lag' | 'afterLoad'>) =>
  state === 'building'
    ? `${counted(lag, 'record')} to load, then ${afterLoad} that have come since`
    : `${counted(lag, 'record')} to apply`;

const progressTable = (name: string, rows: (TopicFacts | PartitionFacts)[], topics: TopicFacts[]): string =>
  table(
    [name, 'position', 'end', 'lag', 'records/s', 'lag time', 'progress'],
    rows.map((one) => [
      'partition' in one ? `${one.topic}/${one.partition}` : one.topic,
      ...[one.position, one.end, one.lag ?? 'unknown', Math.round(one.recordsPerSecond)].map(String),
      seconds(one.lagSeconds),
      progressText(one, topics),
    ]),
    { isLastText: true },
  );

const seconds = (value: number | null): string => (value === null ? 'unknown' : `${Math.round(value)} s`);
