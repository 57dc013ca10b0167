import type { Db } from 'mongodb';
import { removeMarksBefore } from '../../../shared/control/dead-letters.ts';
import { forgetPurgedBefore } from '../../../shared/control/tallies.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';

/**
 * Removes the marks of purged records that are before the beginning of their log: neither a redelivery nor a build
 * reads them again. Of a compacted topic, the log keeps its beginning, and the marks stay.
 */
export async function expireMarks(
  control: Db,
  log: Pick<LogClient, 'read'>,
  topics: string[],
): Promise<void> {
  const { ends } = await log.read(topics);
  for (const [key, { low }] of ends) {
    if (low === 0) continue;
    await removeMarksBefore(control, parsePartitionKey(key), low);
    await forgetPurgedBefore(control, parsePartitionKey(key), low);
  }
}
