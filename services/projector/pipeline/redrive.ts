import type { Db } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { activeGeneration } from '../../../shared/store/generations.ts';
import { applyParsed, type ApplyParsedDeps } from './apply-records.ts';
import type { KafkaRecord, Change, Rejection } from '../events/change.ts';
import { parse } from '../events/parse.ts';
import { kindOfTopic } from '../events/topics.ts';
import { evolve, type Entity } from '../materialize/evolve.ts';
import { createReferenceCache } from '../materialize/reference-cache.ts';
import { projections } from '../projections/projections.ts';
import { deadLettersOf, removeDeadLetters, type DeadLetter } from '../dead-letters/collection.ts';
import { eraseDeadLetters, erasuresAmong } from '../dead-letters/erase.ts';
import { storeAgain } from '../dead-letters/store-dead-letters.ts';
import { recordOf } from '../dead-letters/dead-letter.ts';

export type RedriveDeps = Pick<ApplyParsedDeps, 'store' | 'now' | 'tombstoneDays'> & {
  control: Db;
  prefix: string;
  generation: number;
};

/**
 * What a re-drive makes of a letter: `applied` it has changed its entity, `superseded` a later version or the
 * same one is there, `refused` it is kept.
 */
export type Redriven = { id: string } & (
  { outcome: 'applied' | 'superseded' } | { outcome: 'refused'; reason: string; detail: string }
);

type Opened = { deadLetter: DeadLetter; record: KafkaRecord };

/**
 * Gives letters to the parser and the guards that the bus's records go through, on the active generation. It
 * touches no offset and may run beside any number of projectors: every write is a compare-and-set, and a
 * letter keeps its record's place in the log, so that none rewinds its entity. Letters whose effect is durable
 * are removed; the others stay, counted once more. A dry run changes nothing and tells what is likely.
 */
export async function redrive(
  deps: RedriveDeps,
  deadLetters: DeadLetter[],
  { dryRun }: { dryRun: boolean },
): Promise<Redriven[]> {
  const results: Redriven[] = [];
  for (const [topic, some] of Map.groupBy(deadLetters, (deadLetter) => deadLetter.topic)) {
    const kind = kindOfTopic(topic, deps.prefix);
    if (kind) results.push(...(await redriveKind(deps, kind, some, dryRun)));
    else results.push(...some.map((deadLetter) => foreign(deadLetter, deps.prefix)));
  }
  return results;
}

const foreign = ({ _id, topic }: DeadLetter, prefix: string): Redriven => ({
  id: _id,
  outcome: 'refused',
  reason: 'unknown_topic',
  detail: `${topic} is not a topic of the bus under the prefix ${prefix}`,
});

async function redriveKind(
  deps: RedriveDeps,
  kind: Kind,
  deadLetters: DeadLetter[],
  dryRun: boolean,
): Promise<Redriven[]> {
  const ordered = deadLetters.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset);
  const opened = ordered
    .filter(({ truncated }) => !truncated)
    .map((deadLetter) => ({ deadLetter, record: recordOf(deadLetter) }));
  const expected = await previewRedrive(deps, kind, opened);
  if (!dryRun) await apply(deps, kind, opened, expected);
  return [...ordered.filter(({ truncated }) => truncated).map(headOnly), ...expected.values()];
}

const headOnly = ({ _id, topic, partition, offset, reason }: DeadLetter): Redriven => ({
  id: _id,
  outcome: 'refused',
  reason,
  detail:
    `the record is above 8 MB, and only its head is kept; it stood at offset ${offset} of partition ${partition} ` +
    `of ${topic}: publish it again from there or from its source, then purge this dead letter`,
});

/** Applies the letters, and corrects what was expected by what came of it. */
async function apply(
  deps: RedriveDeps,
  kind: Kind,
  opened: Opened[],
  expected: Map<KafkaRecord, Redriven>,
): Promise<void> {
  const records = opened.map(({ record }) => record);
  const { changes, rejected } = await applyParsed(
    {
      ...deps,
      cache: createReferenceCache(),
      // The positions of dead letters lie behind what is applied, whatever became of them.
      isApplied: () => false,
      outOfOrder: true,
      onNotRefreshed: () => undefined,
    },
    kind,
    records,
    { signal: new AbortController().signal, onProgress: () => undefined },
  );
  const rejections = new Map(rejected.map(({ record, rejection }) => [record, rejection]));
  if ((await activeGeneration(deps.control)) !== deps.generation) {
    throw new Error('another generation has become the active one meanwhile; run it again for that one');
  }
  const operations = rejected.map(({ record, rejection }) =>
    storeAgain(deps, idOf(opened, record), rejection),
  );
  if (operations.length > 0) await deadLettersOf(deps.control).bulkWrite(operations, { ordered: false });
  await removeDeadLetters(
    deps.control,
    opened.filter(({ record }) => !rejections.has(record)).map(({ deadLetter }) => deadLetter._id),
  );
  await eraseDeadLetters(deps, await erasuresAmong(deps.store, kind, { changes, rejected }));
  for (const { deadLetter, record } of opened) {
    const rejection = rejections.get(record);
    if (rejection) expected.set(record, { id: deadLetter._id, outcome: 'refused', ...rejection });
    else if (expected.get(record)?.outcome === 'refused')
      expected.set(record, { id: deadLetter._id, outcome: 'applied' });
  }
}

const idOf = (opened: Opened[], record: KafkaRecord) =>
  opened.find((item) => item.record === record)?.deadLetter._id ?? '';

/** What each letter would do to its entity as that is stored now; the same rules, without a write. */
async function previewRedrive(
  { store, now, tombstoneDays }: RedriveDeps,
  kind: Kind,
  opened: Opened[],
): Promise<Map<KafkaRecord, Redriven>> {
  const parsed = opened.map((item) => ({ ...item, result: parse(kind, item.record) }));
  const ids = new Set(parsed.flatMap(({ result }) => ('change' in result ? [result.change.id] : [])));
  const stored = ids.size > 0 ? await store.readEnvelopes(kind, [...ids]) : [];
  const entities = new Map<string, Entity | null>(stored.map((document) => [document._id, document]));
  const rules = { deletionIsFinal: projections[kind].deletionIsFinal, now: now(), tombstoneDays };
  const step = (change: Change): { outcome: 'applied' | 'superseded' } | Rejection => {
    const next = evolve(entities.get(change.id) ?? null, change, rules);
    entities.set(change.id, next.entity);
    return next.rejected ?? { outcome: next.changed ? 'applied' : 'superseded' };
  };
  return new Map(
    parsed.map(({ deadLetter, record, result }): [KafkaRecord, Redriven] => {
      const come = 'change' in result ? step(result.change) : result.rejected;
      return [
        record,
        { id: deadLetter._id, ...('outcome' in come ? come : { outcome: 'refused', ...come }) },
      ];
    }),
  );
}
