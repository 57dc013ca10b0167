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
export function topicPath(generation: number, topic?: string): string {
  const query = new URLSearchParams({ generation: String(generation) });
  if (topic) query.set('topic', topic);
  return `/lag?${query.toString()}`;
}

function topicsTable(generation: GenerationReport): Html {
  const { number, topics, partitions } = generation;
  const counts = `${counted(topics.length, 'topic')} and ${counted(partitions.length, 'partition')}`;
  const rows = topics.map((facts): [Html, ...Html[]] => [
    html`<a href="${topicPath(number, facts.topic)}">${facts.topic}</a>`,
    ...measureCells(facts, generation),
  ]);
  return html`<p class="muted">
      The lag is the age of the oldest record that may be missing, less the lateness allowance.
    </p>
    ${table(`${counts} of generation ${number}`, ['Topic', ...measureTitles], rows)}`;
}

function partitionsTable(generation: GenerationReport, topic: string, members: Member[]): Html {
  const partitions = generation.partitions.filter((facts) => facts.topic === topic).toSorted(byLag);
  const more = partitions.length > partitionsMax ? `, the first ${partitionsMax}` : '';
  const caption = `${counted(partitions.length, 'partition')} of ${topic}, the longest lag first${more}`;
  const rows = partitions
    .slice(0, partitionsMax)
    .map((facts): [Html, ...Html[]] => [
      html`${facts.topic}/${facts.partition}`,
      ...measureCells(facts, generation),
      html`${facts.owner ? projectorName(facts.owner, members) : 'none'}`,
    ]);
  return html`<p>
      <a href="${topicPath(generation.number)}">All topics of generation ${generation.number}</a>
    </p>
    ${table(caption, ['Partition', ...measureTitles, 'Projector'], rows)}`;
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

const memberTitles = ['Name', 'Generation', 'Version', 'Partitions', 'Host', 'Member of the group'];

function membersTable({ generations, kafka }: Facts): Html {
  const rows: [Html, ...Html[]][] = [];
  for (const { generation, partitions } of generations) {
    const members = kafka.members.get(generation.number) ?? [];
    for (const member of members) {
      const ownPartitions = partitions.filter(({ owner }) => owner?.memberId === member.memberId);
      const releases = ownPartitions.map(({ release }) => release).filter((release) => release !== null);
      rows.push([
        html`${projectorName(member, members)}`,
        numberCell(generation.number),
        html`${[...new Set(releases)].join(', ')}`,
        numberCell(member.partitions.length),
        html`${member.host}`,
        html`${member.memberId}`,
      ]);
    }
  }
  if (rows.length === 0) return html`<p>No projector is known: none runs, or Kafka does not answer.</p>`;
  return table('The projectors', memberTitles, rows);
}
