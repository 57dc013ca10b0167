import { counted } from '../../shared/runtime/counted.ts';
import type { Finding } from '../operations/findings.ts';
import { byLag, type PartitionFacts, type TopicFacts } from '../operations/partitions.ts';
import { followsWithinSeconds, progressText, recordsLeft } from '../operations/progress-text.ts';
import type { GenerationReport, Report } from '../operations/report.ts';
import { lines, table } from './output.ts';

/** A generation lists at most this many partitions that lag, those that lag most. */
const laggingMax = 5;

const isBad = ({ severity }: Finding) => severity === 'bad';

/**
 * The verdict, the findings with their fixes, and each generation with its topics: first all that is bad, and the
 * served generation before the others. With `partitions`, a generation lists every partition, even one without lag.
 */
export function renderReport({ sentence, findings, generations }: Report, partitions = false): string {
  const badOfGenerations = generations.flatMap(({ number, findings: ofGeneration }) =>
    ofGeneration
      .filter(isBad)
      .map((finding) => ({ ...finding, text: `generation ${number}: ${finding.text}` })),
  );
  const others = findings.filter((finding) => !isBad(finding));
  const inOrder = [...findings.filter(isBad), ...badOfGenerations, ...others];
  return [
    lines([sentence]),
    ...inOrder.map((finding) => renderFinding(finding)),
    '\n',
    generations.map((generation) => renderGeneration(generation, partitions)).join('\n'),
  ].join('');
}

const labelWidth = 9;

/** A finding about progress is labelled `next`, because it names the next step of an operator. */
const labelOf = ({ severity }: Finding): string => (severity === 'progress' ? 'next' : severity);

/** `attention  dead letters: 3`, and below it the command that fixes or accepts the finding. */
export function renderFinding(finding: Finding, label = labelOf(finding)): string {
  const { text, fix, accept, isAccepted } = finding;
  const indent = ' '.repeat(labelWidth + 4);
  const shown = [`  ${label.padEnd(labelWidth)}  ${text}`];
  if (fix !== null) shown.push(`${indent}${fix}`);
  if (accept !== null && !isAccepted) shown.push(`${indent}or accept it: ${accept}`);
  return lines(shown);
}

function renderGeneration(one: GenerationReport, partitions: boolean): string {
  const { number, state, condition, topics } = one;
  const shown = condition === state ? state : `${condition} (${state})`;
  const lagging = one.partitions
    .filter(({ lag, lagSeconds }) => lag !== 0 && (lagSeconds ?? Infinity) >= followsWithinSeconds)
    .toSorted(byLag);
  const listed = partitions ? one.partitions : lagging.slice(0, laggingMax);
  const others = lagging.length - laggingMax;
  let text = lines([
    `generation ${number}  ${shown}, lag ${seconds(one.lagSeconds)}, ${recordsLeft(state, one.lag, one.afterLoad)}`,
  ]);
  for (const finding of one.findings) {
    if (!isBad(finding)) text += renderFinding(finding);
  }
  if (topics.length > 0) text += progressTable('topic', topics, topics);
  if (listed.length > 0) text += `\n${progressTable('partition', listed, topics)}`;
  if (!partitions && others > 0) {
    const verb = others === 1 ? 'lags' : 'lag';
    text += lines([`… and ${counted(others, 'further partition')} that ${verb}: --partitions`]);
  }
  return text;
}

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
