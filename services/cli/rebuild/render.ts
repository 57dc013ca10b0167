import type { Transition } from '../../../shared/store/generations.ts';
import type { Check } from '../../operations/rebuild/checks.ts';
import type { Measured, TopicProgress } from '../../operations/rebuild/measure.ts';
import type { Switched } from '../../operations/rebuild/switch.ts';
import type { ComparisonResult } from '../../operations/rebuild/compare.ts';
import { table } from '../output.ts';

/** A topic's progress with its rate. `secondsLeft` is null while the lag does not fall. */
export type RatedTopic = TopicProgress & { recordsPerSecond: number; secondsLeft: number | null };
export type Rated = Omit<Measured, 'topics'> & { topics: RatedTopic[] };

/** Adds the rates between two measurements. */
export const withRates = (before: Measured[], present: Measured[], seconds: number): Rated[] =>
  present.map((one) => {
    const earlier = before.find(({ number }) => number === one.number)?.topics ?? [];
    const topics = one.topics.map((topic) => {
      const then = earlier.find((each) => each.topic === topic.topic) ?? topic;
      const recordsPerSecond = Math.max(0, (topic.position - then.position) / seconds);
      const lag = topic.lag ?? Infinity;
      const fallsBy = ((then.lag ?? Infinity) - lag) / seconds;
      const secondsLeft = lag === 0 ? 0 : fallsBy > 0 ? Math.ceil(lag / fallsBy) : null;
      return { ...topic, recordsPerSecond, secondsLeft };
    });
    return { ...one, topics };
  });

export const renderStarted = ({ number, checks }: { number: number; checks: Check[] }): string =>
  [
    ...checks.map(renderCheck),
    `Generation ${number} is registered. Run its projectors beside those of the active generation:`,
    `  GENERATION=${number} npm run projector`,
    'Then wait until it is ready, compare it, and serve it:',
    ...['await', 'compare', 'promote'].map((verb) => `  npx support-cli rebuild ${verb} ${number}`),
    '',
  ].join('\n');

const renderCheck = ({ name, isMet, isAccepted, detail }: Check): string =>
  `${(isAccepted ? 'accepted' : isMet ? 'ok' : 'FAILED').padEnd(8)}  ${name.padEnd(10)}  ${detail}`;

export const renderStatus = (generations: Rated[]): string => generations.map(renderGeneration).join('\n');

function renderGeneration(one: Rated): string {
  const behind = one.behindSeconds === null ? 'unknown' : `${Math.round(one.behindSeconds)} s`;
  const rows = one.topics.map((topic) => [
    topic.topic,
    ...[topic.position, topic.end, topic.lag ?? 'unknown', Math.round(topic.recordsPerSecond)].map(String),
    topic.behindSeconds === null ? 'unknown' : `${Math.round(topic.behindSeconds)} s`,
    topic.secondsLeft === null ? 'unknown' : `${topic.secondsLeft} s`,
  ]);
  const isSettled = one.topics.every(({ lag }) => lag === 0);
  const still = one.topics.filter(({ lag, recordsPerSecond }) => lag && recordsPerSecond === 0);
  const isStanding = !one.stopped && one.waitsFor.length === 0 && still.length > 0;
  const condition = `${one.condition}${one.condition === one.state ? '' : ` (${one.state})`}`;
  return [
    `generation ${one.number}  ${condition}${one.stopped ? `: ${one.stopped.reason}` : ''}`,
    `  projection version ${one.projectionVersion}, behind ${behind}, ${recordsLeft(one)}`,
    ...(isStanding ? [standStill(still)] : []),
    ...one.waitsFor.map((reason) => `  waits  ${reason}`),
    ...one.rejects.map(({ id, reason, detail }) => `  reject ${id}  ${reason}: ${detail}`),
    ...(isSettled
      ? []
      : ['', table(['topic', 'position', 'end', 'lag', 'records/s', 'behind', 'time left'], rows).trimEnd()]),
    '',
  ].join('\n');
}

const standStill = (topics: RatedTopic[]): string =>
  `  waits  ${topics.map(({ topic }) => topic).join(', ')}: no record was applied for a moment. They wait for the topics ` +
  "that they refer to; if not, see the projector's log";

/** The records that a generation has still to apply, in words. */
export const recordsLeft = ({
  state,
  lag,
  afterLoad,
}: Pick<Measured, 'state' | 'lag' | 'afterLoad'>): string =>
  state === 'building'
    ? `${lag} records to load, then ${afterLoad} that have come since`
    : `${lag} records to apply`;

export const renderHistory = (history: Transition[]): string =>
  history
    .map(({ generation, from, to, at, by, why }) => {
      const change = from === to ? to : `${from ?? 'nothing'} -> ${to}`;
      return `${at.toISOString()}  generation ${generation}  ${change}  by ${by}: ${why}\n`;
    })
    .join('');

/** The result in one line. It counts documents and differences: one document may have several differences. */
export function comparisonText({
  compared,
  differing,
  differences,
  expected,
  isCutShort,
}: ComparisonResult): string {
  if (differences === 0) return `${compared} compared: 0 unintended, ${expected} intended differences`;
  return (
    `${compared} compared: ${differing} differ, with ${differences}${isCutShort ? ' or more' : ''} unintended, ` +
    `${expected} intended differences`
  );
}

export function renderComparison(number: number, result: ComparisonResult): string {
  const classes = Object.entries(result.counts).map(([name, count]) => `  ${count} ${name}`);
  return [
    `generation ${number}: ${comparisonText(result)}`,
    ...classes,
    ...result.samples.map(
      ({ kind, id, class: name, field }) => `  ${kind} ${id}  ${name}${field === name ? '' : ` ${field}`}`,
    ),
    '',
  ].join('\n');
}

/** The result in Prometheus' text format, for a node exporter's textfile collector. */
export const renderMetrics = (
  number: number,
  { compared, differences }: ComparisonResult,
  at: Date,
): string =>
  [
    '# HELP support_verify_differences Differences between stored documents and a fresh join',
    '# TYPE support_verify_differences gauge',
    `support_verify_differences{generation="${number}"} ${differences}`,
    '# HELP support_verify_documents Documents compared',
    '# TYPE support_verify_documents gauge',
    `support_verify_documents{generation="${number}"} ${compared}`,
    '# HELP support_verify_timestamp_seconds When the comparison ended',
    '# TYPE support_verify_timestamp_seconds gauge',
    `support_verify_timestamp_seconds{generation="${number}"} ${at.getTime() / 1_000}`,
    '',
  ].join('\n');

export function renderSwitched({ number, outcome, checks, waiting }: Switched): string {
  const lines = checks.map(renderCheck);
  if (outcome === 'refused') lines.push(`generation ${number} is not promoted`);
  if (outcome === 'dry-run') lines.push('dry run: nothing was changed');
  if (outcome === 'promoted' || outcome === 'was-active')
    lines.push(
      waiting.length === 0
        ? `generation ${number} is served`
        : `generation ${number} is active, but not served by every replica yet`,
    );
  for (const { host, pid, release, generation } of waiting)
    lines.push(
      `  the API replica on ${host}, process ${pid}${release ? `, release ${release}` : ''}, still serves ${generation === null ? 'nothing' : `generation ${generation}`}: ` +
        'it follows once the generation has caught up; see its log, and run this again to wait on',
    );
  return `${lines.join('\n')}\n`;
}
