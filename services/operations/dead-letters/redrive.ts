import type { Db } from 'mongodb';
import { generationOf, readRegistry } from '../../../shared/control/generations.ts';
import { type LedgerRecord, rejectRecords, spanIdOf } from '../../../shared/control/ledger.ts';
import { changeSpans, closeDeadLetters } from '../../../shared/control/ledger-store.ts';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { kindOfTopic, topicOf } from '../../../shared/kafka/topics.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { parseRecord } from '../../projector/apply/parse-record.ts';
import { applyChanges, finishFanOuts, parseChunk } from '../../projector/apply/phases.ts';
import { eraseDeadLetters, findErasures } from '../../projector/dead-letters/erase.ts';
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
 * The result for a dead letter. `applied`: its record changed its entity. `superseded`: the version of the record, or a
 * later one, was already stored. `refused`: the dead letter stays.
 */
export type RedriveResult = { id: string } & (
  { outcome: 'applied' | 'superseded' } | { outcome: 'refused'; reason: string; detail: string }
);

/** A dead letter with its record, which was read from its stored bytes or from the log. */
export type ReadDeadLetter = { id: string; entry: LedgerRecord; record: KafkaRecord };

/** A dead letter that was rejected again, with its latest rejection. */
type StillRejected = { entry: LedgerRecord; rejection: Rejection };

/**
 * Applies dead letters with the parser and the guards of the pipeline, on one generation. It commits no offset and may
 * run beside any number of projectors: Invariant 13 in docs/internals/retention.md. For this generation, it closes the
 * dead letters whose effect is durable, and keeps the others with a higher count. A dry run changes nothing and returns
 * the likely outcomes.
 */
export async function redrive(
  deps: RedriveDeps,
  readable: ReadDeadLetter[],
  { dryRun }: { dryRun: boolean },
): Promise<RedriveResult[]> {
  const results: RedriveResult[] = [];
  for (const [topic, letters] of Map.groupBy(readable, ({ entry }) => entry.topic)) {
    const kind = kindOfTopic(topic, deps.prefix);
    if (kind) results.push(...(await redriveKind(deps, kind, letters, dryRun)));
    else results.push(...letters.map((letter) => refuseUnknownTopic(letter, deps.prefix)));
  }
  return results;
}

const refuseUnknownTopic = ({ id, entry: { topic } }: ReadDeadLetter, prefix: string): RedriveResult => ({
  id,
  outcome: 'refused',
  reason: 'unknown_topic',
  detail: `${topic} is not one of the topics with the prefix ${prefix}`,
});

async function redriveKind(
  deps: RedriveDeps,
  kind: Kind,
  readable: ReadDeadLetter[],
  dryRun: boolean,
): Promise<RedriveResult[]> {
  const inLogOrder = readable.toSorted(
    ({ entry: a }, { entry: b }) => a.partition - b.partition || a.offset - b.offset,
  );
  const expected = await previewRedrive(deps, kind, inLogOrder);
  if (dryRun) return [...expected.values()];
  const rejections = await applyDeadLetters(deps, kind, inLogOrder);
  return inLogOrder.map(({ id, record }) => finalResult(id, rejections.get(record), expected.get(record)));
}

/** The result after the redrive. Only the preview knows whether a later version was already stored. */
function finalResult(
  id: string,
  rejection: Rejection | undefined,
  expected: RedriveResult | undefined,
): RedriveResult {
  if (rejection) return { id, outcome: 'refused', ...rejection };
  return expected?.outcome === 'superseded' ? expected : { id, outcome: 'applied' };
}

/** The dependencies of the engine for old records, whose later records were applied long ago. */
const engineOf = (deps: RedriveDeps): ReconcileDeps => ({
  ...deps,
  // The projectors' positions are past the dead letters, so they do not show whether a record was applied.
  isApplied: () => false,
  outOfOrder: true,
  onNotRefreshed: () => undefined,
  onStalled: ({ rounds, ids }) => {
    throw new Error(`other writers changed ${ids.join(', ')} before each of ${rounds} attempts`);
  },
});

/** Applies the dead letters, and closes those whose effect is durable. Returns the rejections of the others. */
async function applyDeadLetters(
  deps: RedriveDeps,
  kind: Kind,
  readable: ReadDeadLetter[],
): Promise<Map<KafkaRecord, Rejection>> {
  const records = readable.map(({ record }) => record);
  const attempt = { signal: new AbortController().signal, onProgress: () => undefined };
  const engine = engineOf(deps);
  const chunk = parseChunk(kind, { topic: topicOf(kind, deps.prefix), records }, attempt);
  const outcome = await applyChanges(engine, [chunk]);
  const { changes, rejected } = await finishFanOuts(engine, chunk, outcome);
  // Throws if an operator has dropped the generation since the redrive began.
  const registry = await readRegistry(deps.control);
  if (registry) generationOf(registry, deps.generation);
  const rejections = new Map(rejected.map(({ record, rejection }) => [record, rejection]));
  await storeOutcomes(deps, readable, rejections);
  await eraseDeadLetters(deps, await findErasures(deps.store, kind, { changes, rejected }));
  return rejections;
}

/** Stores another rejection of each rejected dead letter, and closes the others. */
async function storeOutcomes(
  deps: RedriveDeps,
  readable: ReadDeadLetter[],
  rejections: Map<KafkaRecord, Rejection>,
): Promise<void> {
  const rejected: StillRejected[] = [];
  const applied: string[] = [];
  for (const { id, entry, record } of readable) {
    const rejection = rejections.get(record);
    if (rejection) rejected.push({ entry, rejection });
    else applied.push(id);
  }
  await rejectAgain(deps, rejected);
  await closeDeadLetters(deps.control, applied, deps.generation);
}

/** The rejected records stay in the ledger with the latest reason, unless another operator has closed them. */
async function rejectAgain(
  { control, generation, now }: RedriveDeps,
  rejected: StillRejected[],
): Promise<void> {
  const bySpan = Map.groupBy(rejected, ({ entry }) => spanIdOf(entry));
  await changeSpans(control, bySpan.keys(), (span) => {
    const rejects = (bySpan.get(span._id) ?? []).map(({ entry, rejection }) => ({ ...entry, ...rejection }));
    rejectRecords(span, rejects, { generation, now: now(), onlyIfLacking: true });
  });
}

/** Predicts the outcome of each dead letter by the rules of a redrive, from the stored entities and without a write. */
async function previewRedrive(
  { store, now, tombstoneDays }: RedriveDeps,
  kind: Kind,
  readable: ReadDeadLetter[],
) {
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
  const expected = new Map<KafkaRecord, RedriveResult>();
  for (const { id, record, result } of parsed) {
    const outcome = 'change' in result ? evolveNext(result.change) : result.rejected;
    if ('outcome' in outcome) expected.set(record, { id, ...outcome });
    else expected.set(record, { id, outcome: 'refused', ...outcome });
  }
  return expected;
}
