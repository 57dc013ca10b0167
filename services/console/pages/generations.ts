import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { ComparisonReport, Generation } from '../../../shared/control/generations.ts';
import type { Finding, Step } from '../../operations/finding.ts';
import { checklist } from '../../operations/findings.ts';
import type { TopicFacts } from '../../operations/partitions.ts';
import { progressText } from '../../operations/progress-text.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { isBuild } from '../../operations/rebuild/transitions.ts';
import { command, definitions, freshness, number, seconds, type Page } from '../layout.ts';
import type { Sources } from '../sources.ts';
import { cards } from './overview.ts';

/** Every generation: the phases of a build, its checks and comparison, and the next command. */
export const generationsPage = ({ overview, commands }: Sources): Page => ({
  path: '/generations',
  title: 'Generations',
  regions: async () => {
    const now = await overview.get();
    const fresh = freshness(now);
    if (!now.value) return { generations: html`<p>No generation is known yet.</p>`, fresh };
    const { facts, findings, report } = now.value;
    const { generations } = report;
    const build = generations.find(isBuild)?.number ?? null;
    return {
      generations: html`${generations.map((one) =>
        section(
          findings,
          one,
          facts.registry?.generations.find(({ number }) => number === one.number),
        ),
      )}
      ${build !== null ? html`` : html`<p>To build another one: ${command(`${commands.cli} rebuild start`)}</p>`}`,
      fresh,
    };
  },
});

function section(all: Finding[], one: GenerationReport, generation: Generation | undefined): Html {
  const [next] = one.findings.filter(({ remedy }) => remedy !== null);
  const lagging = one.topics.filter(({ lag }) => lag !== 0);
  const step = one.state === 'ready' ? 'promote' : one.state === 'standby' ? 'rollback' : null;
  return html`<h2>Generation ${one.number}: ${one.condition}</h2>
    ${definitions([
      ['Lag', html`${seconds(one.lagSeconds)}, ${number(one.lag)} records to apply`],
      ['Version', `projection version ${one.projectionVersion}`],
      ...(generation?.report
        ? ([['Comparison', comparisonText(generation.report)]] satisfies [string, string][])
        : []),
      ...(next
        ? ([['Next', html`${command(next.remedy ?? '')} ${next.text}`]] satisfies [string, Html][])
        : []),
    ])}
    ${cards(one.findings.filter((finding) => finding !== next))}
    ${isBuild(one) ? phases(one, generation?.report).map((phase) => bar(one.number, phase)) : html``}
    ${isBuild(one) && lagging.length > 0 ? topicsTable(one, lagging) : html``}
    ${step ? checksTable(all, one.number, step) : html``}`;
}

/** A phase of a build; `done` is from 0 to 1. */
export type Phase = { name: string; done: number; text: string };

/** The phases of a build up to its promotion. */
export function phases(
  one: Pick<GenerationReport, 'state' | 'condition' | 'topics' | 'lag' | 'afterLoad'>,
  report: ComparisonReport | undefined,
): Phase[] {
  const position = one.topics.reduce((sum, topic) => sum + topic.position, 0);
  const end = one.topics.reduce((sum, topic) => sum + topic.end, 0);
  const part = end === 0 ? 1 : position / end;
  const isLoading = one.state === 'building';
  const isReady = one.state === 'ready';
  const isCompared = report?.differences === 0;
  return [
    {
      name: 'Load',
      done: isLoading ? part : 1,
      text: isLoading ? `${position} of ${counted(end, 'record')}` : 'done',
    },
    {
      name: 'Catch up',
      done: isLoading ? 0 : isReady ? 1 : part,
      text: isLoading
        ? `${counted(one.afterLoad, 'record')} so far`
        : isReady
          ? 'done'
          : `${counted(one.lag, 'record')} left`,
    },
    {
      name: 'Compare',
      done: isCompared ? 1 : 0,
      text: report
        ? `${report.compared} compared, ${counted(report.differences, 'unintended difference')}`
        : 'not yet',
    },
    { name: 'Promote', done: 0, text: 'not yet' },
  ];
}

const bar = (number: number, { name, done, text }: Phase): Html =>
  html`<p class="phase">
    <span>${name}</span>
    <progress max="1" value="${done.toFixed(3)}" aria-label="Generation ${number}: ${name}"></progress>
    <span>${text}</span>
  </p>`;

const comparisonText = ({ compared, differences, expected, at, by, against }: ComparisonReport): string =>
  `${counted(compared, 'document')} with generation ${against}: ${differences} unintended, ${counted(expected, 'intended difference')}; by ${by} at ${at.toISOString()}`;

const topicsTable = ({ number, topics }: GenerationReport, lagging: TopicFacts[]): Html =>
  table(
    `The topics of which generation ${number} has records to apply`,
    ['Topic', 'Records left', 'Progress'],
    lagging.map((topic) => [
      html`${topic.topic}`,
      html`${topic.lag ?? 'unknown'}`,
      html`${progressText(topic, topics)}`,
    ]),
  );

const checksTable = (all: Finding[], number: number, step: Step): Html =>
  table(
    `The checks before generation ${number} can be served`,
    ['Check', 'Result', 'Finding'],
    checklist(all, number, step).map(({ name, isMet, isWaived, text }) => [
      html`${name}`,
      html`<span class="finding ${isMet ? 'good' : 'bad'}"
        >${isWaived ? 'accepted' : isMet ? 'ok' : 'failed'}</span
      >`,
      html`${text}`,
    ]),
  );
