import type { Db } from 'mongodb';
import { forgetPurgedBefore } from '../../../shared/control/ledger-store.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';

/**
 * Forgets the purged records and the skips before the beginning of their log: neither a redelivery nor a build reads
 * them again. A compacted log keeps its beginning, and they stay.
 */
export async function forgetPurged(
  control: Db,
  log: Pick<LogClient, 'read'>,
  topics: string[],
): Promise<void> {
  const { ends } = await log.read(topics);
  for (const [key, { low }] of ends)
    if (low > 0) await forgetPurgedBefore(control, parsePartitionKey(key), low);
}
