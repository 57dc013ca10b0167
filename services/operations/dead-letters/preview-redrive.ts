import type { LedgerRecord } from '../../../shared/control/ledger.ts';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { parseRecord } from '../../projector/apply/parse-record.ts';
import type { Change } from '../../projector/events/change.ts';
import { type Entity, evolve } from '../../projector/materialize/evolve.ts';
import type { ReconcileDeps } from '../../projector/materialize/reconcile.ts';
import { projections } from '../../projector/projections/projections.ts';

/**
 * The result for a dead letter. `applied`: its record changed its entity. `superseded`: the version of the record, or a
 * later one, was already stored. `refused`: the dead letter stays.
 */
export type RedriveResult = { id: string } & (
  { outcome: 'applied' | 'superseded' } | { outcome: 'refused'; reason: string; detail: string }
);

/** A dead letter with its record, which was read from its stored bytes or from the log. */
export type ReadDeadLetter = { id: string; entry: LedgerRecord; record: KafkaRecord };

/**
 * Predicts the result of each dead letter by the rules of a redrive, from the stored entities and without a write. The
 * keys are the ids of the dead letters.
 */
export async function previewRedrive(
  { store, now, tombstoneDays }: Pick<ReconcileDeps, 'store' | 'now' | 'tombstoneDays'>,
  kind: Kind,
  readable: ReadDeadLetter[],
): Promise<Map<string, RedriveResult>> {
  const parsed = readable.map((letter) => ({ ...letter, result: parseRecord(kind, letter.record) }));
  const ids = new Set<string>();
  for (const { result } of parsed) {
    if ('change' in result) ids.add(result.change.id);
  }
  const stored = ids.size > 0 ? await store.readEnvelopes(kind, [...ids]) : [];
  const entities = new Map<string, Entity | null>(stored.map((document) => [document._id, document]));
  const rules = { deletionIsFinal: projections[kind].deletionIsFinal, now: now(), tombstoneDays };
  const evolveNext = (change: Change): { outcome: 'applied' | 'superseded' } | Rejection => {
    try {
      const next = evolve(entities.get(change.id) ?? null, change, rules);
      entities.set(change.id, next.entity);
      return next.rejected ?? { outcome: next.changed ? 'applied' : 'superseded' };
    } catch (error) {
      if (!isCodeError(error)) throw error;
      return projectorError('engine', error);
    }
  };
  const expected = new Map<string, RedriveResult>();
  for (const { id, result } of parsed) {
    const outcome = 'change' in result ? evolveNext(result.change) : result.rejected;
    if ('outcome' in outcome) expected.set(id, { id, ...outcome });
    else expected.set(id, { id, outcome: 'refused', ...outcome });
  }
  return expected;
}
