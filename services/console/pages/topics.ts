import { isBuild } from '../../../shared/control/generations.ts';
import type { Member, Owner } from '../../../shared/kafka/group-members.ts';
import { type Html, html, table } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Facts } from '../../operations/facts.ts';
import { byLag, type PartitionFacts, type TopicFacts } from '../../operations/partitions.ts';
import { followsWithinSeconds, progressText } from '../../operations/progress-text.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { staleAfterSeconds } from '../../operations/rules/generation.ts';
import { freshness, numberCell, type Page, secondsCell, staleVerdict, withAges } from '../layout.ts';
import type { Sources } from '../sources.ts';

/** A topic lists at most this many partitions, those with the longest lag. */
const partitionsMax = 200;

/** The topics of a generation, or the partitions of one of them, and the projectors that apply them. */
export const topicsPage = ({ overview }: Sources): Page => ({
  path: '/lag',
  title: 'Topics',
  regions: async (query) => {
    const reading = await overview();
    const fresh = freshness(reading);
    const { facts, report } = reading.value ?? {};
    const generationNumber = Number(query.get('generation') ?? report?.active);
    const generation = report?.generations.find((known) => known.number === generationNumber);
    if (!facts || !generation) return { topics: html`<p>No topic is known yet.</p>`, fresh };
    const members = facts.kafka.members.get(generationNumber) ?? [];
    const topic = generation.topics.find((known) => known.topic === query.get('topic'))?.topic;
    return {
      stale: staleVerdict(reading) ?? html``,
      topics: topic ? partitionsTable(generation, topic, members) : topicsTable(generation),
      projectors: membersTable(facts),
      fresh,
    };
  },
});

const measureTitles = ['Position', 'End', 'To apply', 'Records/s', 'Lag', 'Progress'];

/** The path of this page for all topics of a generation, or for the partitions of one topic. */
export const topicPath = (generation: number, topic?: string): string =>
  `/lag?${new URLSearchParams({ generation: `${generation}`, ...(topic && { topic }) }).toString()}`;

const topicsTable = (generation: GenerationReport): Html =>
  html`<p class="muted">
      The lag is the age of the oldest record that may be missing, less the lateness allowance.
    </p>
    ${table(
      `${counted(generation.topics.length, 'topic')} and ${counted(generation.partitions.length, 'partition')} of generation ${generation.number}`,
      ['Topic', ...measureTitles],
      generation.topics.map((facts) => [
        html`<a href="${topicPath(generation.number, facts.topic)}">${facts.topic}</a>`,
        ...measureCells(facts, generation),
      ]),
    )}`;

function partitionsTable(generation: GenerationReport, topic: string, members: Member[]): Html {
  const partitions = generation.partitions.filter((facts) => facts.topic === topic).toSorted(byLag);
  const more = partitions.length > partitionsMax ? `, the first ${partitionsMax}` : '';
  return html`<p>
      <a href="${topicPath(generation.number)}">All topics of generation ${generation.number}</a>
    </p>
    ${table(
      `${counted(partitions.length, 'partition')} of ${topic}, the longest lag first${more}`,
      ['Partition', ...measureTitles, 'Projector'],
      partitions
        .slice(0, partitionsMax)
        .map((facts) => [
          html`${facts.topic}/${facts.partition}`,
          ...measureCells(facts, generation),
          html`${facts.owner ? projectorName(facts.owner, members) : 'none'}`,
        ]),
    )}`;
}

const measureCells = (facts: TopicFacts | PartitionFacts, generation: GenerationReport): Html[] => [
  numberCell(facts.position),
  numberCell(facts.lag === null ? null : facts.end),
  numberCell(facts.lag),
  numberCell(facts.recordsPerSecond),
  secondsCell(facts.lagSeconds),
  html`<span class="finding ${severityClass(facts, generation)}"
    >${withAges(progressText(facts, generation.topics))}</span
  >`,
];

/** The CSS class of the progress; none for a build, which lags until it has caught up. */
function severityClass({ lagSeconds, cause }: TopicFacts, generation: GenerationReport): string {
  if (isBuild(generation)) return '';
  const isBlocked = cause === 'unassigned' || cause === 'unreadable';
  if (isBlocked || (lagSeconds ?? 0) > staleAfterSeconds) return 'bad';
  return (lagSeconds ?? 0) > followsWithinSeconds ? 'warn' : '';
}

const projectorName = ({ memberId }: Owner, members: Member[]): string =>
  `projector ${members.findIndex((member) => member.memberId === memberId) + 1}`;

const membersTable = ({ generations, kafka }: Facts): Html => {
  const rows = generations.flatMap(({ generation, partitions }) => {
    const members = kafka.members.get(generation.number) ?? [];
    return members.map((member): [Html, ...Html[]] => {
      const ownPartitions = partitions.filter(({ owner }) => owner?.memberId === member.memberId);
      const releases = new Set(ownPartitions.flatMap(({ release }) => release ?? []));
      return [
        html`${projectorName(member, members)}`,
        numberCell(generation.number),
        html`${[...releases].join(', ')}`,
        numberCell(member.partitions.length),
        html`${member.host}`,
        html`${member.memberId}`,
      ];
    });
  });
  return rows.length === 0
    ? html`<p>No projector is known: none runs, or Kafka does not answer.</p>`
    : table(
        'The projectors',
        ['Name', 'Generation', 'Version', 'Partitions', 'Host', 'Member of the group'],
        rows,
      );
};
