import type { Kind } from '../../../shared/documents/document.ts';
import type { Applied, ApplyContext } from '../consumer/partition-worker.ts';
import type { Rejected } from '../dead-letters/dead-letter.ts';
import { eraseDeadLetters, erasuresAmong } from '../dead-letters/erase.ts';
import { storeDeadLetters, type StoreDeadLettersDeps } from '../dead-letters/store-dead-letters.ts';
import type { Change } from '../events/change.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { parse } from '../events/parse.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import { applyChanges } from '../materialize/fan-out.ts';
import type { ReconcileDeps } from '../materialize/reconcile.ts';

export type ApplyDeps = ReconcileDeps & StoreDeadLettersDeps;

/**
 * Applies a batch of records of one topic. When it returns, the effect of each is durable, or the record is stored as a
 * dead letter: Invariants 13 and 14 in docs/internals/consistency.md.
 */
export async function applyRecords(
  deps: ApplyDeps,
  kind: Kind,
  records: KafkaRecord[],
  context: ApplyContext,
): Promise<Applied> {
  const { changes, rejected } = await applyParsed(deps, kind, records, context);
  const stored = await storeDeadLetters(deps, topicOf(kind, deps.prefix), rejected);
  await eraseDeadLetters(deps, await erasuresAmong(deps.store, kind, { changes, rejected }));
  return {
    events: changes.length,
    rejected: stored.map(({ rejection }) => rejection.reason),
    times: changes.map(({ time }) => time.getTime()),
  };
}

/** Parses the records and applies their changes. Returns the changes, and the records that were rejected. */
export async function applyParsed(
  deps: ReconcileDeps,
  kind: Kind,
  records: KafkaRecord[],
  context: ApplyContext,
): Promise<{ changes: Change[]; rejected: Rejected[] }> {
  const changes: Change[] = [];
  const rejected: Rejected[] = [];
  for (const record of records) {
    const result = parse(kind, record);
    if ('rejected' in result) rejected.push({ record, rejection: result.rejected });
    else changes.push(result.change);
  }
  const refused = await applyChanges({ ...deps, ...context }, kind, changes);
  for (const { change, rejection } of refused) {
    const record = records.find(({ position }) => position === change.position);
    if (record) rejected.push({ record, rejection });
  }
  return { changes, rejected };
}
