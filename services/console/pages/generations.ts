import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { ComparisonReport, Generation } from '../../../shared/control/generations.ts';
import { recordsLeft } from '../../operations/rebuild/await-ready.ts';
import type { Check } from '../../operations/rebuild/checks.ts';
import { nextStep } from '../../operations/rebuild/next-step.ts';
import type { Rated, RatedTopic } from '../../operations/rebuild/status.ts';
import type { Commands } from '../../operations/deployment.ts';
import { isBuild } from '../../operations/rebuild/transitions.ts';
import { command, definitions, freshness, seconds, type Page } from '../layout.ts';
import type { Sources } from '../sources.ts';
import { progressText } from './lag.ts';

/** Every generation: the phases of a build, its checks and comparison, and the next command. */
export const generationsPage = ({ overview, checks, commands }: Sources): Page => ({
  path: '/generations',
  title: 'Generations',
  regions: async () => {
    const [now, checked] = await Promise.all([overview.get(), checks.get()]);
    const fresh = freshness(now, checked);
    if (!now.value) return { generations: html`<p>No generation is known yet.</p>`, fresh };
    const { registry, generations } = now.value;
    const build = generations.find(isBuild)?.number ?? null;
    return {
      generations: html`${generations.map((one) =>
        section(
          commands,
          one,
          registry.generations.find(({ number }) => number === one.number),
          { checks: checked.value?.get(one.number) ?? null, build },
        ),
      )}
      ${build !== null ? html`` : html`<p>To build another one: ${command(`${commands.cli} rebuild start`)}</p>`}`,
      fresh,
    };
  },
});

function section(
  commands: Commands,
  one: Rated,
  generation: Generation | undefined,
  { checks, build }: { checks: Check[] | null; build: number | null },
): Html {
  const next = nextStep(commands, one, checks, build);
  const lagging = one.topics.filter(({ lag }) => lag !== 0);
  return html`<h2>Generation ${one.number}: ${one.condition}</h2>
    ${one.stopped ? html`<p class="finding bad">${one.stopped.reason}</p>` : html``}
    ${definitions([
      ['Lag', `${seconds(one.lagSeconds)}, ${recordsLeft(one)}`],
      ['Version', `projection version ${one.projectionVersion}`],
      ...(generation?.report
        ? ([['Comparison', comparisonText(generation.report)]] satisfies [string, string][])
        : []),
      ...(next ? ([['Next', html`${command(next.command)} ${next.why}`]] satisfies [string, Html][]) : []),
    ])}
    <ul>
      ${one.waitsFor.map((reason) => html`<li>${reason}</li>`)}
      ${one.rejects.map(({ id, reason, detail }) => html`<li>dead letter ${id}, ${reason}: ${detail}</li>`)}
    </ul>
    ${isBuild(one) ? phases(one, generation?.report).map((phase) => bar(one.number, phase)) : html``}
    ${isBuild(one) && lagging.length > 0 ? topicsTable(one.number, lagging) : html``}
    ${checks ? checksTable(one.number, checks) : html``}`;
}

/** A phase of a build; `done` is from 0 to 1. */
export type Phase = { name: string; done: number; text: string };

/** The phases of a build up to its promotion. */
export function phases(
  one: Pick<Rated, 'state' | 'condition' | 'topics' | 'lag' | 'afterLoad'>,
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

const topicsTable = (number: number, topics: RatedTopic[]): Html =>
  table(
    `The topics of which generation ${number} has records to apply`,
    ['Topic', 'Records left', 'Progress'],
    topics.map((topic) => [
      html`${topic.topic}`,
      html`${topic.lag ?? 'unknown'}`,
      html`${progressText(topic)}`,
    ]),
  );

const checksTable = (number: number, checks: Check[]): Html =>
  table(
    `The checks before generation ${number} can be served`,
    ['Check', 'Result', 'Finding'],
    checks.map(({ name, isMet, isAccepted, detail }) => [
      html`${name}`,
      html`<span class="finding ${isMet ? 'good' : 'bad'}"
        >${isAccepted ? 'accepted' : isMet ? 'ok' : 'failed'}</span
      >`,
      html`${detail}`,
    ]),
  );
