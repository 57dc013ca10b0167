import { isBuild } from '../../../shared/control/generations.ts';
import type { Member, Owner } from '../../../shared/kafka/group-members.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Facts } from '../../operations/facts.ts';
import { byLag, type TopicFacts } from '../../operations/partitions.ts';
import { followsWithinSeconds, progressText } from '../../operations/progress-text.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { staleAfterSeconds } from '../../operations/rules/generation.ts';
import { freshness, number, type Page, seconds, staleness, withAges } from '../layout.ts';
import type { Sources } from '../sources.ts';

/** A topic lists at most this many partitions, those with the longest lag. */
const partitionsMax = 200;

/** The topics of a generation, or the partitions of one of them, and the projectors that apply them. */
export const topicsPage = ({ overview }: Sources): Page => ({
  path: '/lag',
  title: 'Topics',
  regions: async (query) => {
    const now = await overview();
    const fresh = freshness(now);
    const { facts, report } = now.value ?? {};
    const number = Number(query.get('generation') ?? report?.active);
    const shown = report?.generations.find((one) => one.number === number);
    if (!facts || !shown) return { topics: html`<p>No topic is known yet.</p>`, fresh };
    const members = facts.kafka.members.get(number) ?? [];
    const topic = shown.topics.find((one) => one.topic === query.get('topic'))?.topic;
    return {
      stale: staleness(now) ?? html``,
      topics: topic ? partitionsTable(shown, topic, members) : topicsTable(shown),
      projectors: membersTable(facts),
      fresh,
    };
  },
});

const titles = ['Position', 'End', 'To apply', 'Records/s', 'Lag', 'Progress'];

/** The page of the topics of a generation, or of one of them. */
export const topicPath = (generation: number, topic?: string): string =>
  `/lag?${new URLSearchParams({ generation: `${generation}`, ...(topic && { topic }) }).toString()}`;

const topicsTable = (shown: GenerationReport): Html =>
  html`<p class="muted">
      The lag is the age of the oldest record that may be missing, less the lateness allowance.
    </p>
    ${table(
      `${counted(shown.topics.length, 'topic')} and ${counted(shown.partitions.length, 'partition')} of generation ${shown.number}`,
      ['Topic', ...titles],
      shown.topics.map((one) => [
        html`<a href="${topicPath(shown.number, one.topic)}">${one.topic}</a>`,
        ...measures(one, shown),
      ]),
    )}`;

function partitionsTable(shown: GenerationReport, topic: string, members: Member[]): Html {
  const partitions = shown.partitions.filter((one) => one.topic === topic).toSorted(byLag);
  const more = partitions.length > partitionsMax ? `, the first ${partitionsMax}` : '';
  return html`<p><a href="${topicPath(shown.number)}">All topics of generation ${shown.number}</a></p>
    ${table(
      `${counted(partitions.length, 'partition')} of ${topic}, the longest lag first${more}`,
      ['Partition', ...titles, 'Projector'],
      partitions
        .slice(0, partitionsMax)
        .map((one) => [
          html`${one.topic}/${one.partition}`,
          ...measures(one, shown),
          html`${one.owner ? nameOf(one.owner, members) : 'none'}`,
        ]),
    )}`;
}

const measures = (one: TopicFacts, shown: GenerationReport): Html[] => [
  number(one.position),
  number(one.lag === null ? null : one.end),
  number(one.lag),
  number(one.recordsPerSecond),
  seconds(one.lagSeconds),
  html`<span class="finding ${severity(one, shown)}">${withAges(progressText(one, shown.topics))}</span>`,
];

/** A build lags until it has caught up. A first load also lags, but its lag is still unknown. */
function severity({ lagSeconds, cause }: TopicFacts, shown: GenerationReport): string {
  if (isBuild(shown)) return '';
  const isBlocked = cause === 'unassigned' || cause === 'unreadable';
  if (isBlocked || (lagSeconds ?? 0) > staleAfterSeconds) return 'bad';
  return (lagSeconds ?? 0) > followsWithinSeconds ? 'warn' : '';
}

const nameOf = ({ memberId }: Owner, members: Member[]): string =>
  `projector ${members.findIndex((one) => one.memberId === memberId) + 1}`;

const membersTable = ({ generations, kafka }: Facts): Html => {
  const all = generations.flatMap(({ generation, partitions }) => {
    const members = kafka.members.get(generation.number) ?? [];
    return members.map((one): [Html, ...Html[]] => {
      const saved = partitions.filter(({ owner }) => owner?.memberId === one.memberId);
      const releases = new Set(saved.flatMap(({ release }) => release ?? []));
      return [
        html`${nameOf(one, members)}`,
        number(generation.number),
        html`${[...releases].join(', ')}`,
        number(one.partitions.length),
        html`${one.host}`,
        html`${one.memberId}`,
      ];
    });
  });
  return all.length === 0
    ? html`<p>No projector is known: none runs, or Kafka does not answer.</p>`
    : table(
        'The projectors',
        ['Name', 'Generation', 'Version', 'Partitions', 'Host', 'Member of the group'],
        all,
      );
};
