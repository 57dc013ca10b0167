import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import type { Facts } from '../../operations/facts.ts';
import type { Member, Owner } from '../../../shared/kafka/group-members.ts';
import { byLag, type PartitionFacts, type TopicFacts } from '../../operations/partitions.ts';
import { progressText } from '../../operations/progress-text.ts';
import type { GenerationReport } from '../../operations/report.ts';
import { freshness, number, seconds, staleness, type Page } from '../layout.ts';
import type { Sources } from '../sources.ts';

/** Of a topic with more partitions, these with the longest lag are listed. */
const partitionsMax = 200;

/** The topics of the active generation, each with its partitions, and the projectors that apply them. */
export const topicsPage = ({ overview }: Sources): Page => ({
  path: '/lag',
  title: 'Topics',
  regions: async () => {
    const now = await overview.get();
    const fresh = freshness(now);
    const { facts, report } = now.value ?? {};
    const active = report?.generations.find((one) => one.number === report.active);
    if (!facts || !active) return { topics: html`<p>No topic is known yet.</p>`, fresh };
    return {
      stale: staleness(now) ?? html``,
      topics: topicRows(active, facts.kafka.members.get(active.number) ?? []),
      projectors: membersTable(facts),
      fresh,
    };
  },
});

const titles = ['Topic', 'Position', 'End', 'Records/s', 'Lag', 'Progress'] as const;

/** A row for each topic, which opens into a table of its partitions. */
const topicRows = ({ number: generation, topics, partitions }: GenerationReport, members: Member[]): Html =>
  html`<p class="muted">
      ${counted(topics.length, 'topic')} and ${counted(partitions.length, 'partition')} of generation
      ${generation}. The lag is the age of the oldest record that may be missing, less the lateness allowance.
    </p>
    <div class="row titles" aria-hidden="true">${titles.map((title) => html`<span>${title}</span>`)}</div>
    ${topics.map((one) => {
      const [name, ...cells] = measures(one, one.topic, topics);
      return html`<details id="topic-${one.topic}">
        <summary class="row" id="open-${one.topic}">
          <strong>${name}</strong>
          ${cells.map((cell, index) => html`<span data-label="${titles[index + 1] ?? ''}">${cell}</span>`)}
        </summary>
        ${partitionsTable(
          partitions.filter(({ topic }) => topic === one.topic),
          topics,
          members,
        )}
      </details>`;
    })}`;

const measures = (one: TopicFacts, name: string, topics: TopicFacts[]): [Html, ...Html[]] => [
  html`${name}`,
  number(one.position),
  number(one.end),
  number(one.recordsPerSecond),
  seconds(one.lagSeconds),
  html`${one.lag === 0 ? '' : `${one.lag === null ? 'unknown' : digits(one.lag)} left: `}${progressText(one, topics)}`,
];

function partitionsTable(partitions: PartitionFacts[], topics: TopicFacts[], members: Member[]): Html {
  const more = partitions.length > partitionsMax ? `, the first ${partitionsMax}` : '';
  return table(
    `${counted(partitions.length, 'partition')}, the longest lag first${more}`,
    ['Partition', ...titles.slice(1), 'Projector'],
    partitions
      .toSorted(byLag)
      .slice(0, partitionsMax)
      .map((one) => [
        ...measures(one, `${one.topic}/${one.partition}`, topics),
        html`${one.owner ? nameOf(one.owner, members) : 'none'}`,
      ]),
  );
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
