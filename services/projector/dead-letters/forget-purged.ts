import type { Db } from 'mongodb';
import { forgetPurgedBefore } from '../../../shared/control/ledger-store.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';

/**
 * Removes from the ledger the purged records and the skips before the beginning of their log: no redelivery and no
 * build can read them again. Those of a compacted log stay, because a compacted log keeps its beginning.
 */
export async function forgetPurged(
  control: Db,
  log: Pick<LogClient, 'read'>,
  topics: string[],
): Promise<void> {
  const { ends } = await log.read(topics);
  for (const [key, { low }] of ends) {
    if (low > 0) await forgetPurgedBefore(control, parsePartitionKey(key), low);
  }
}
