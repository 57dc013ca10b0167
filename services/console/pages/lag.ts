import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { byLag, type PartitionFacts, type TopicFacts } from '../../operations/partitions.ts';
import { followsWithinSeconds, progressText } from '../../operations/progress-text.ts';
import { freshness, seconds, staleness, type Page } from '../layout.ts';
import type { Sources } from '../sources.ts';

/** More partitions are only counted. */
const partitionsMax = 200;

/** The partitions of the active generation that lag, the longest lag first. */
export const lagPage = ({ overview }: Sources): Page => ({
  path: '/lag',
  title: 'Lag',
  regions: async () => {
    const now = await overview.get();
    const fresh = freshness(now);
    const { report } = now.value ?? {};
    const active = report?.generations.find(({ number }) => number === report.active);
    if (!active) return { partitions: html`<p>No lag is known yet.</p>`, fresh };
    const lagging = active.partitions
      .filter(({ lagSeconds }) => (lagSeconds ?? Infinity) >= followsWithinSeconds)
      .toSorted(byLag);
    const all = `${counted(active.partitions.length, 'partition')} of generation ${active.number}`;
    const stale = staleness(now);
    const none = stale ? html`` : html`<p class="verdict good">None of the ${all} lags.</p>`;
    const more = lagging.length > partitionsMax ? `; here are the first ${partitionsMax}` : '';
    return {
      partitions: html`${stale ?? html``}
      ${
        lagging.length === 0
          ? none
          : html`<p>Lagging: ${lagging.length} of the ${all}${more}</p>
              ${laggingTable(lagging.slice(0, partitionsMax), active.topics)}`
      }`,
      fresh,
    };
  },
});

const laggingTable = (partitions: PartitionFacts[], topics: TopicFacts[]): Html =>
  table(
    'The lag in seconds is the age of the oldest record that may be missing, less the lateness allowance.',
    ['Partition', 'Lag', 'Records', 'Progress', 'Projector'],
    partitions.map((partition) => [
      html`${partitionKey(partition)}`,
      html`${seconds(partition.lagSeconds)}`,
      html`${partition.lag ?? 'unknown'}`,
      html`${progressText(partition, topics)}`,
      html`${ownerText(partition)}`,
    ]),
  );

/** The projector that a partition is assigned to. */
export const ownerText = ({ owner }: PartitionFacts): string =>
  owner ? `${owner.memberId} on ${owner.host}` : 'no projector is known';
