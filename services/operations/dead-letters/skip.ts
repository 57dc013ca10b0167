import type { Db } from 'mongodb';
import { placeText, type RecordPlace, type Skip } from '../../../shared/control/ledger.ts';
import { readSkip } from '../../../shared/control/ledger-store.ts';
import { progressOf } from '../../../shared/control/progress.ts';
import { livingGenerations, requireRegistry } from '../../../shared/control/registry.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { digits } from '../../../shared/runtime/counted.ts';

/** The generations that have yet to apply a record, and its skip by an earlier command; null without one. */
type SkipCheck = { generations: number[]; earlier: Skip | null };

/**
 * Checks a record before it is skipped. Throws if every generation has applied it, or if the log has no such record.
 * Otherwise a misspelt place would be stored, and the partition would still be stuck.
 */
export async function checkSkip(control: Db, place: RecordPlace): Promise<SkipCheck> {
  const { topic, partition, offset } = place;
  const [registry, earlier, progress] = await Promise.all([
    requireRegistry(control),
    readSkip(control, place),
    progressOf(control).find({ topic, partition }).toArray(),
  ]);
  const living = new Set(livingGenerations(registry).map(({ number }) => number));
  const livingProgress = progress.filter(({ generation }) => living.has(generation));
  if (livingProgress.length === 0)
    throw new Error(`no projector has read ${partitionKey(place)}: see "status"`);
  const end = Math.max(...livingProgress.map((saved) => saved.end));
  if (offset >= end)
    throw new Error(`${placeText(place)} is not in the log, which ends before offset ${digits(end)}`);
  const unapplied = livingProgress.filter(({ applied }) => applied.position <= offset);
  if (unapplied.length === 0 && !earlier) {
    const positions = livingProgress.map(
      ({ generation, applied }) => `generation ${generation} is at offset ${digits(applied.position)}`,
    );
    throw new Error(`${placeText(place)} is applied already, or is a dead letter: ${positions.join(', ')}`);
  }
  return { generations: unapplied.map(({ generation }) => generation), earlier };
}
