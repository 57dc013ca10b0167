import type { Db } from 'mongodb';
import { closeDeadLetters, type DeadLetter, deadLettersOf } from '../../../shared/control/dead-letters.ts';
import { generationOf, readRegistry } from '../../../shared/control/generations.ts';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { kindOfTopic, topicOf } from '../../../shared/kafka/topics.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { parseRecord } from '../../projector/apply/parse-record.ts';
import { applyChanges, finishFanOuts, parseChunk } from '../../projector/apply/phases.ts';
import { eraseDeadLetters, erasuresAmong } from '../../projector/dead-letters/erase.ts';
import { countAgain } from '../../projector/dead-letters/store-dead-letters.ts';
import type { Change } from '../../projector/events/change.ts';
import { type Entity, evolve } from '../../projector/materialize/evolve.ts';
import type { ReconcileDeps } from '../../projector/materialize/reconcile.ts';
import { projections } from '../../projector/projections/projections.ts';

export type RedriveDeps = Pick<ReconcileDeps, 'store' | 'now' | 'tombstoneDays'> & {
  control: Db;
  prefix: string;
  generation: number;
};

/**
 * The outcome of a dead letter: `applied` it changed its entity, `superseded` its version or a later one is already
 * stored, `refused` it stays.
 */
export type Redriven = { id: string } & (
  { outcome: 'applied' | 'superseded' } | { outcome: 'refused'; reason: string; detail: string }
);

type Outcomes = Map<KafkaRecord, Redriven>;

/** A dead letter and its record: as stored, or as read from Kafka. */
export type Readable = {
  deadLetter: Pick<DeadLetter, '_id' | 'topic' | 'partition' | 'offset'>;
  record: KafkaRecord;
};

/** Stores the outcomes on a generation: dead letters are closed for it, or stay, refused once more. */
export type Settle = (
  deps: Pick<RedriveDeps, 'control' | 'generation' | 'now'>,
  closed: Readable[],
  refused: { deadLetter: Readable['deadLetter']; rejection: Rejection }[],
) => Promise<void>;

/** A dry run changes nothing. Without `settle`, the dead letters are stored ones. */
export type RedriveOptions = { dryRun: boolean; settle?: Settle };

/**
 * Applies dead letters with the parser and the guards of the pipeline, on one generation. It commits no offset and may
 * run beside any number of projectors: Invariant 13 in docs/internals/retention.md. Dead letters whose effect is
 * durable are closed for this generation; the others stay, with a higher count. A dry run changes nothing and returns
 * the likely outcomes.
 */
export async function redrive(
  deps: RedriveDeps,
  readable: Readable[],
  { dryRun, settle = settleStored }: RedriveOptions,
) {
  const results: Redriven[] = [];
  for (const [topic, ofTopic] of Map.groupBy(readable, ({ deadLetter }) => deadLetter.topic)) {
    const kind = kindOfTopic(topic, deps.prefix);
    if (kind) results.push(...(await redriveKind(deps, kind, ofTopic, { dryRun, settle })));
    else results.push(...ofTopic.map(({ deadLetter }) => unknownTopic(deadLetter, deps.prefix)));
  }
  return results;
}

const unknownTopic = ({ _id, topic }: Readable['deadLetter'], prefix: string): Redriven => ({
  id: _id,
  outcome: 'refused',
  reason: 'unknown_topic',
  detail: `${topic} is not one of the topics with the prefix ${prefix}`,
});

async function redriveKind(
  deps: RedriveDeps,
  kind: Kind,
  readable: Readable[],
  { dryRun, settle }: { dryRun: boolean; settle: Settle },
) {
  const inLogOrder = readable.toSorted(
    ({ deadLetter: a }, { deadLetter: b }) => a.partition - b.partition || a.offset - b.offset,
  );
  const outcomes = await previewRedrive(deps, kind, inLogOrder);
  if (!dryRun) await apply(deps, kind, inLogOrder, outcomes, settle);
  return [...outcomes.values()];
}

export const refuseTruncated = ({ _id, topic, partition, offset, reason, detail }: DeadLetter): Redriven => ({
  id: _id,
  outcome: 'refused',
  reason,
  detail:
    (reason === 'undecodable'
      ? `${detail}; only the head of the batch is stored; it was in partition ${partition} of ${topic}: `
      : `only the head of the record is stored, and it is not in the log any more; it was at offset ${offset} of partition ${partition} of ${topic}: `) +
    'publish it again from its source, then purge this dead letter',
});

/** Applies the dead letters, and corrects the expected outcomes. */
async function apply(
  deps: RedriveDeps,
  kind: Kind,
  readable: Readable[],
  outcomes: Outcomes,
  settle: Settle,
) {
  const records = readable.map(({ record }) => record);
  const watch = { signal: new AbortController().signal, onProgress: () => undefined };
  const engine: ReconcileDeps = {
    ...deps,
    // The positions of dead letters count as applied, although their records never were.
    isApplied: () => false,
    outOfOrder: true,
    onNotRefreshed: () => undefined,
    onStalled: ({ rounds, ids }) => {
      const count = `after ${rounds} rounds`;
      throw new Error(`other writes of ${ids.join(', ')} still come first ${count}: run the command again`);
    },
  };
  const chunk = parseChunk(kind, { topic: topicOf(kind, deps.prefix), records }, watch);
  const outcome = await applyChanges(engine, [chunk]);
  const { changes, rejected } = await finishFanOuts(engine, chunk, outcome);
  // Throws if the generation was dropped meanwhile.
  const registry = await readRegistry(deps.control);
  if (registry) generationOf(registry, deps.generation);
  const rejections = new Map(rejected.map(({ record, rejection }) => [record, rejection]));
  const refused = readable.flatMap(({ deadLetter, record }) => {
    const rejection = rejections.get(record);
    return rejection ? [{ deadLetter, rejection }] : [];
  });
  await settle(
    deps,
    readable.filter(({ record }) => !rejections.has(record)),
    refused,
  );
  await eraseDeadLetters(deps, await erasuresAmong(deps.store, kind, { changes, rejected }));
  for (const { deadLetter, record } of readable) {
    const rejection = rejections.get(record);
    if (rejection) outcomes.set(record, { id: deadLetter._id, outcome: 'refused', ...rejection });
    else if (outcomes.get(record)?.outcome === 'refused')
      outcomes.set(record, { id: deadLetter._id, outcome: 'applied' });
  }
}

/** Closes stored dead letters, and counts the refused ones again. */
const settleStored: Settle = async (deps, closed, refused) => {
  const updates = refused.map(({ deadLetter, rejection }) => ({
    updateOne: { filter: { _id: deadLetter._id }, update: countAgain(deps, rejection) },
  }));
  if (updates.length > 0) await deadLettersOf(deps.control).bulkWrite(updates, { ordered: false });
  const ids = closed.map(({ deadLetter }) => deadLetter._id);
  await closeDeadLetters(deps.control, ids, deps.generation);
};

/** The likely outcome of each dead letter, by the same rules on the stored entities, without a write. */
async function previewRedrive({ store, now, tombstoneDays }: RedriveDeps, kind: Kind, readable: Readable[]) {
  const parsed = readable.map((item) => ({ ...item, result: parseRecord(kind, item.record) }));
  const ids = new Set(parsed.flatMap(({ result }) => ('change' in result ? [result.change.id] : [])));
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
  return new Map(
    parsed.map(({ deadLetter, record, result }): [KafkaRecord, Redriven] => {
      const expected = 'change' in result ? evolveNext(result.change) : result.rejected;
      const outcome = 'outcome' in expected ? expected : { outcome: 'refused' as const, ...expected };
      return [record, { id: deadLetter._id, ...outcome }];
    }),
  );
}
