import { counted } from '../../shared/runtime/counted.ts';
import type { Finding } from '../operations/findings.ts';
import { byLag, type PartitionFacts, type TopicFacts } from '../operations/partitions.ts';
import { followsWithinSeconds, progressText, recordsLeft } from '../operations/progress-text.ts';
import type { GenerationReport, Report } from '../operations/report.ts';
import { lines, table } from './output.ts';

/** A generation lists at most this many lagging partitions, those with the longest lag. */
const laggingMax = 5;

const isBad = ({ severity }: Finding) => severity === 'bad';

/**
 * The verdict, the findings with their fixes, and each generation with its topics: first all that is bad, and the
 * served generation before the others. With `partitions`, a generation lists every partition, even one without lag.
 */
export function renderReport({ sentence, findings, generations }: Report, partitions = false): string {
  const badOfGenerations = generations.flatMap(({ number, findings: generationFindings }) =>
    generationFindings
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
  const texts = [`  ${label.padEnd(labelWidth)}  ${text}`];
  if (fix !== null) texts.push(`${indent}${fix}`);
  if (accept !== null && !isAccepted) texts.push(`${indent}or accept it: ${accept}`);
  return lines(texts);
}

function renderGeneration(generation: GenerationReport, listsAll: boolean): string {
  const { number, state, condition, topics, partitions } = generation;
  const conditionText = condition === state ? state : `${condition} (${state})`;
  const lagging = partitions
    .filter(({ lag, lagSeconds }) => lag !== 0 && (lagSeconds ?? Infinity) >= followsWithinSeconds)
    .toSorted(byLag);
  const listed = listsAll ? partitions : lagging.slice(0, laggingMax);
  const others = lagging.length - laggingMax;
  let text = lines([
    `generation ${number}  ${conditionText}, lag ${secondsText(generation.lagSeconds)}, ` +
      recordsLeft(state, generation.lag, generation.afterLoad),
  ]);
  for (const finding of generation.findings) {
    if (!isBad(finding)) text += renderFinding(finding);
  }
  if (topics.length > 0) text += progressTable('topic', topics, topics);
  if (listed.length > 0) text += `\n${progressTable('partition', listed, topics)}`;
  if (!listsAll && others > 0) {
    const verb = others === 1 ? 'lags' : 'lag';
    text += lines([`… and ${counted(others, 'further partition')} that ${verb}: --partitions`]);
  }
  return text;
}

const progressTable = (name: string, rows: (TopicFacts | PartitionFacts)[], topics: TopicFacts[]): string =>
  table(
    [name, 'position', 'end', 'lag', 'records/s', 'lag time', 'progress'],
    rows.map((facts) => [
      'partition' in facts ? `${facts.topic}/${facts.partition}` : facts.topic,
      String(facts.position),
      String(facts.end),
      String(facts.lag ?? 'unknown'),
      String(Math.round(facts.recordsPerSecond)),
      secondsText(facts.lagSeconds),
      progressText(facts, topics),
    ]),
    { isLastText: true },
  );

const secondsText = (value: number | null): string => (value === null ? 'unknown' : `${Math.round(value)} s`);
