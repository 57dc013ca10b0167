import { createRequire } from 'node:module';
import type { Batch } from 'kafkajs';

type FetchedBatch = Batch & { rawMessages: unknown[]; fetchedOffset: string };

const { prototype } = createRequire(import.meta.url)('kafkajs/src/consumer/batch') as {
  prototype: FetchedBatch & { isEmptyDueToFiltering: () => boolean };
};

/**
 * kafkajs moves on by itself past a batch of which nothing is left but control records, aborted ones or those
 * that compaction has emptied, from wherever it was fetched. From here on, in this process, such a batch reaches
 * `eachBatch` as any other, with no messages in it, so that one place decides what was read.
 */
export function handOverEveryBatch(): void {
  prototype.isEmptyDueToFiltering = () => false;
  prototype.isEmpty = function (this: FetchedBatch) {
    return this.rawMessages.length === 0;
  };
}

/** The offset that the batch was asked from: on it, but not in kafkajs's types. */
export const fetchedOffsetOf = (batch: Batch): number => Number((batch as FetchedBatch).fetchedOffset);
