import { html, table, type Html } from '../../../shared/pages/html.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { RatedPartition, RatedTopic } from '../../operations/rebuild/status.ts';
import type { Owner } from '../../operations/status/owners.ts';
import { laggingPartitions } from '../../operations/status/verdict.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { freshness, seconds, staleness, type Page } from '../layout.ts';
import type { Sources } from '../sources.ts';

/** By `<topic>/<partition>`. */
export type Owners = ReadonlyMap<string, Owner>;

/** More partitions are only counted. */
const partitionsMax = 200;

/** The partitions of the active generation that lag, the longest lag first. */
export const lagPage = ({ overview, owners }: Sources): Page => ({
  path: '/lag',
  title: 'Lag',
  regions: async () => {
    const [now, held] = await Promise.all([overview.get(), owners.get()]);
    const fresh = freshness(now, held);
    if (!now.value) return { partitions: html`<p>No lag is known yet.</p>`, fresh };
    const { registry, generations } = now.value;
    const active = generations.find(({ number }) => number === registry.generation);
    const lagging = active ? laggingPartitions(active) : [];
    const all = `${counted(active?.partitions.length ?? 0, 'partition')} of generation ${registry.generation}`;
    const stale = staleness(now);
    const none = stale ? html`` : html`<p class="verdict good">None of the ${all} lags.</p>`;
    const more = lagging.length > partitionsMax ? `; here are the first ${partitionsMax}` : '';
    return {
      partitions: html`${stale ?? html``}
      ${
        lagging.length === 0
          ? none
          : html`<p>Lagging: ${lagging.length} of the ${all}${more}</p>
              ${laggingTable(lagging.slice(0, partitionsMax), held.value)}`
      }`,
      fresh,
    };
  },
});

const laggingTable = (partitions: RatedPartition[], owners: Owners | null): Html =>
  table(
    'The lag in seconds is the age of the oldest record that may be missing, less the lateness allowance.',
    ['Partition', 'Lag', 'Records', 'Trend', 'Projector'],
    partitions.map((partition) => [
      html`${partitionKey(partition)}`,
      html`${seconds(partition.lagSeconds)}`,
      html`${partition.lag ?? 'unknown'}`,
      html`${progressText(partition)}`,
      html`${ownerText(owners, partition)}`,
    ]),
  );

/** Whether the lag of a partition or topic falls. */
export function progressText({ lag, recordsPerSecond, secondsLeft }: RatedTopic): string {
  if (lag === 0) return 'nothing to apply';
  if (recordsPerSecond === 0) return 'standing still';
  const rate = `${Math.max(1, Math.round(recordsPerSecond))} records/s applied`;
  return secondsLeft === null
    ? `${rate}, but the lag does not fall`
    : `falling, ${secondsLeft} s left, ${rate}`;
}

/** The projector that a partition is assigned to; `owners` is null until Kafka has named them. */
export function ownerText(owners: Owners | null, partition: { topic: string; partition: number }): string {
  if (!owners) return 'its projector is unknown';
  const owner = owners.get(partitionKey(partition));
  return owner ? `${owner.memberId} on ${owner.host}` : 'no projector holds it';
}
