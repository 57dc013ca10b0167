import type { Transition } from '../../../shared/control/generations.ts';
import type { Commands } from '../../operations/deployment.ts';
import type { Check } from '../../operations/rebuild/checks.ts';
import type { Rated, RatedTopic } from '../../operations/rebuild/status.ts';
import { recordsLeft } from '../../operations/rebuild/await-ready.ts';
import type { Switched } from '../../operations/rebuild/switch.ts';
import { resultText, type ComparisonResult } from '../../operations/rebuild/compare.ts';
import { table } from '../output.ts';

export const renderStarted = (
  { cli, projector }: Commands,
  { number, checks }: { number: number; checks: Check[] },
): string =>
  [
    ...checks.map(renderCheck),
    `Generation ${number} is registered. Run its projectors next to the ones of the active generation:`,
    `  ${projector(number)}`,
    'Then wait until it is ready, compare it, and promote it:',
    ...['await', 'compare', 'promote'].map((verb) => `  ${cli} rebuild ${verb} ${number}`),
    '',
  ].join('\n');

const renderCheck = ({ name, isMet, isAccepted, detail }: Check): string =>
  `${(isAccepted ? 'accepted' : isMet ? 'ok' : 'FAILED').padEnd(8)}  ${name.padEnd(10)}  ${detail}`;

export const renderStatus = (generations: Rated[]): string => generations.map(renderGeneration).join('\n');

function renderGeneration(one: Rated): string {
  const rows = one.topics.map((topic) => [
    topic.topic,
    ...[topic.position, topic.end, topic.lag ?? 'unknown', Math.round(topic.recordsPerSecond)].map(String),
    seconds(topic.lagSeconds),
    seconds(topic.secondsLeft),
  ]);
  const isComplete = one.topics.every(({ lag }) => lag === 0);
  const idle = one.topics.filter(({ lag, recordsPerSecond }) => lag && recordsPerSecond === 0);
  const isIdle = !one.stopped && one.waitsFor.length === 0 && idle.length > 0;
  const condition = `${one.condition}${one.condition === one.state ? '' : ` (${one.state})`}`;
  return [
    `generation ${one.number}  ${condition}${one.stopped ? `: ${one.stopped.reason}` : ''}`,
    `  projection version ${one.projectionVersion}, lag ${seconds(one.lagSeconds)}, ${recordsLeft(one)}`,
    ...(isIdle ? [noProgress(idle)] : []),
    ...one.waitsFor.map((reason) => `  waits  ${reason}`),
    ...one.rejects.map(({ id, reason, detail }) => `  reject ${id}  ${reason}: ${detail}`),
    ...(isComplete
      ? []
      : [
          '',
          table(['topic', 'position', 'end', 'lag', 'records/s', 'lag time', 'time left'], rows).trimEnd(),
        ]),
    '',
  ].join('\n');
}

const seconds = (value: number | null): string => (value === null ? 'unknown' : `${Math.round(value)} s`);

const noProgress = (topics: RatedTopic[]): string =>
  `  waits  ${topics.map(({ topic }) => topic).join(', ')}: no progress in the last 2 s: waiting for prerequisite topics, or ` +
  "see the projector's log";

export const renderHistory = (history: Transition[]): string =>
  history
    .map(({ generation, from, to, at, by, why }) => {
      const change = from === to ? to : `${from ?? 'nothing'} -> ${to}`;
      return `${at.toISOString()}  generation ${generation}  ${change}  by ${by}: ${why}\n`;
    })
    .join('');

export function renderComparison(number: number, result: ComparisonResult): string {
  const classes = Object.entries(result.counts).map(([name, count]) => `  ${count} ${name}`);
  return [
    `generation ${number}: ${resultText(result)}`,
    ...classes,
    ...result.samples.map(
      ({ kind, id, class: name, field }) => `  ${kind} ${id}  ${name}${field === name ? '' : ` ${field}`}`,
    ),
    '',
  ].join('\n');
}

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
      `  the API replica on ${host}, process ${pid}, release ${release}, still serves ${generation === null ? 'nothing' : `generation ${generation}`}: ` +
        'it follows once the new generation has caught up; see its log, and run this again to keep waiting',
    );
  return `${lines.join('\n')}\n`;
}
