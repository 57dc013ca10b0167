import type { Kind } from '../../../shared/documents/document.ts';
import type { Rejected } from '../dead-letters/collection.ts';
import { eraseDeadLetters, erasuresAmong } from '../dead-letters/erase.ts';
import { storeDeadLetters, type StoreDeadLettersDeps } from '../dead-letters/store-dead-letters.ts';
import type { KafkaRecord, Change } from '../events/change.ts';
import { parse } from '../events/parse.ts';
import { topicOf } from '../events/topics.ts';
import { applyChanges } from '../materialize/apply-changes.ts';
import type { ReconcileDeps } from '../materialize/reconcile.ts';
import type { UpdateDeps } from '../materialize/fan-out.ts';

export type ApplyParsedDeps = ReconcileDeps;

/** What a run of records is applied under: until when it is ours, and who is told of what is done. */
export type Work = Pick<UpdateDeps, 'signal' | 'onProgress'>;
export type ApplyDeps = ApplyParsedDeps & StoreDeadLettersDeps;

/**
 * What came of a run of records of one partition. `times` are the events' own, in milliseconds; `appliedToMs` is
 * the latest of them, each no later than its record was published: a wrong time must not promise what comes
 * after it. Null where no record was an event.
 */
export type Applied = { events: number; rejected: number; times: number[]; appliedToMs: number | null };

/**
 * Applies a run of records of one topic. When it returns, each of them has had its effect or is kept as a
 * dead letter, durably.
 */
export async function applyRecords(
  deps: ApplyDeps,
  kind: Kind,
  records: KafkaRecord[],
  work: Work,
): Promise<Applied> {
  const { changes, rejected } = await applyParsed(deps, kind, records, work);
  await storeDeadLetters(deps, topicOf(kind, deps.prefix), rejected);
  await eraseDeadLetters(deps, await erasuresAmong(deps.store, kind, { changes, rejected }));
  return {
    events: changes.length,
    rejected: rejected.length,
    times: changes.map(({ time }) => time.getTime()),
    appliedToMs: changes
      .map(({ time, position }) => Math.min(time.getTime(), position.timestampMs))
      .reduce<number | null>((latest, one) => Math.max(latest ?? one, one), null),
  };
}

/** Parses the records and applies what they mean; gives those that the parser or the rules refused. */
export async function applyParsed(
  deps: ApplyParsedDeps,
  kind: Kind,
  records: KafkaRecord[],
  work: Work,
): Promise<{ changes: Change[]; rejected: Rejected[] }> {
  const changes: Change[] = [];
  const rejected: Rejected[] = [];
  const recordOf = new Map<Change, KafkaRecord>();
  for (const record of records) {
    const result = parse(kind, record);
    if ('rejected' in result) {
      rejected.push({ record, rejection: result.rejected });
      continue;
    }
    changes.push(result.change);
    recordOf.set(result.change, record);
  }
  const refused = await applyChanges({ ...deps, ...work }, kind, changes);
  for (const { change, rejection } of refused) {
    const record = recordOf.get(change);
    if (record) rejected.push({ record, rejection });
  }
  return { changes, rejected };
}
