import type { Db } from 'mongodb';
import { generationOf, readRegistry } from '../../../shared/control/generations.ts';
import { type LedgerRecord, rejectRecords, spanIdOf } from '../../../shared/control/ledger.ts';
import { changeSpans, closeDeadLetters } from '../../../shared/control/ledger-store.ts';
import { livingGenerations } from '../../../shared/control/registry.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { kindOfTopic, topicOf } from '../../../shared/kafka/topics.ts';
import { applyChanges, finishFanOuts, parseChunk } from '../../projector/apply/phases.ts';
import { eraseDeadLetters, type Erasure, findErasures } from '../../projector/dead-letters/erase.ts';
import type { ReconcileDeps } from '../../projector/materialize/reconcile.ts';
import { previewRedrive, type ReadDeadLetter, type RedriveResult } from './preview-redrive.ts';

export type RedriveDeps = Pick<ReconcileDeps, 'store' | 'now' | 'tombstoneDays'> & {
  control: Db;
  prefix: string;
  generation: number;
  /** Whether the projectors of the generation have read past the record, so that they do not read it any more. */
  isPast: (entry: LedgerRecord) => boolean;
};

/** The dead letters after their records were applied on one generation. Nothing of it is stored yet. */
type Redriven = {
  target: RedriveDeps;
  /** The results, by the id of the dead letter. */
  results: Map<string, RedriveResult>;
  /** The rejections of the records that the engine has rejected again, by the id of the dead letter. */
  rejections: Map<string, Rejection>;
  /** The dead letters to erase, of entities that the records have deleted. */
  erasures: Erasure[];
};

/**
 * Applies dead letters with the parser and the guards of the pipeline, on each target generation that lacks the record,
 * and on each that has read past it. The latter has applied the record, so nothing changes, or could not read it,
 * because Kafka had lost it (Invariant 17). A build that is not past the record still reads it in its place in the log.
 * A redrive commits no offset and may run beside any number of projectors: Invariant 13 in docs/internals/retention.md.
 *
 * Opens a dead letter for each of these generations that rejects the record, and then closes it for each that has
 * applied the record. A crash before the closes leaves all dead letters open. Returns the worst result of each dead
 * letter by its id; a dead letter that no target lacks has no result. A dry run changes nothing, and returns the likely
 * results.
 */
export async function redrive(
  targets: RedriveDeps[],
  readable: ReadDeadLetter[],
  { dryRun }: { dryRun: boolean },
): Promise<Map<string, RedriveResult>> {
  const open = readable.filter((letter) => targets.some((target) => isListed(target, letter)));
  const redriven: Redriven[] = [];
  for (const target of targets) {
    const letters = open.filter((letter) => isListed(target, letter) || target.isPast(letter.entry));
    redriven.push(await redriveOn(target, letters, dryRun));
  }
  if (!dryRun) await settle(redriven, open);
  const worstResults = new Map<string, RedriveResult>();
  const severity = { superseded: 0, applied: 1, refused: 2 };
  for (const result of redriven.flatMap(({ results }) => [...results.values()])) {
    const worst = worstResults.get(result.id);
    const isWorse = !worst || severity[result.outcome] > severity[worst.outcome];
    if (isWorse) worstResults.set(result.id, result);
  }
  return worstResults;
}

/** Whether a generation lacks the record, as the ledger knows. */
const isListed = ({ generation }: RedriveDeps, { entry }: ReadDeadLetter): boolean =>
  entry.generations.includes(generation);

const isRefused = ({ results }: Redriven, { id }: ReadDeadLetter): boolean =>
  results.get(id)?.outcome === 'refused';

async function redriveOn(
  target: RedriveDeps,
  readable: ReadDeadLetter[],
  dryRun: boolean,
): Promise<Redriven> {
  const redriven: Redriven = { target, results: new Map(), rejections: new Map(), erasures: [] };
  for (const [topic, letters] of Map.groupBy(readable, ({ entry }) => entry.topic)) {
    const kind = kindOfTopic(topic, target.prefix);
    if (kind) {
      await redriveKind(redriven, kind, letters, dryRun);
    } else {
      for (const { id, entry } of letters)
        redriven.results.set(id, refuseUnknownTopic(id, entry, target.prefix));
    }
  }
  return redriven;
}

const refuseUnknownTopic = (id: string, { topic }: LedgerRecord, prefix: string): RedriveResult => ({
  id,
  outcome: 'refused',
  reason: 'unknown_topic',
  detail: `${topic} is not one of the topics with the prefix ${prefix}`,
});

async function redriveKind(
  redriven: Redriven,
  kind: Kind,
  readable: ReadDeadLetter[],
  dryRun: boolean,
): Promise<void> {
  const inLogOrder = readable.toSorted(
    ({ entry: a }, { entry: b }) => a.partition - b.partition || a.offset - b.offset,
  );
  const expected = await previewRedrive(redriven.target, kind, inLogOrder);
  if (!dryRun) await applyDeadLetters(redriven, kind, inLogOrder);
  for (const [id, preview] of expected) {
    redriven.results.set(id, dryRun ? preview : finalResult(preview, redriven.rejections.get(id)));
  }
}

/** The result after the redrive. Only the preview knows whether a later version was already stored. */
function finalResult(preview: RedriveResult, rejection: Rejection | undefined): RedriveResult {
  if (rejection) return { id: preview.id, outcome: 'refused', ...rejection };
  return preview.outcome === 'superseded' ? preview : { id: preview.id, outcome: 'applied' };
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

/** Applies the records, and adds the outcome to `redriven`. Their effect is durable when it returns. */
async function applyDeadLetters(redriven: Redriven, kind: Kind, readable: ReadDeadLetter[]): Promise<void> {
  const { target, rejections, erasures } = redriven;
  const records = readable.map(({ record }) => record);
  const attempt = { signal: new AbortController().signal, onProgress: () => undefined };
  const engine = engineOf(target);
  const chunk = parseChunk(kind, { topic: topicOf(kind, target.prefix), records }, attempt);
  const outcome = await applyChanges(engine, [chunk]);
  const { changes, rejected } = await finishFanOuts(engine, chunk, outcome);
  const rejectionOf = new Map(rejected.map(({ record, rejection }) => [record, rejection]));
  for (const { id, record } of readable) {
    const rejection = rejectionOf.get(record);
    if (rejection) rejections.set(id, rejection);
  }
  erasures.push(...(await findErasures(target.store, kind, { changes, rejected })));
}

/**
 * Stores the new rejections, closes the dead letters for each generation that has applied them, and erases the dead
 * letters of deleted entities. A crash before the closes leaves the dead letters open for more generations, not fewer.
 */
async function settle(redriven: Redriven[], readable: ReadDeadLetter[]): Promise<void> {
  const [first] = redriven;
  if (!first) return;
  const { control } = first.target;
  for (const onTarget of redriven) await storeRejections(onTarget, readable);
  await requireLiving(control, redriven);
  for (const onTarget of redriven) {
    const { target } = onTarget;
    const closed = readable.filter((letter) => isListed(target, letter) && !isRefused(onTarget, letter));
    const closedIds = closed.map(({ id }) => id);
    await closeDeadLetters(control, closedIds, target.generation);
  }
  // After all dead letters are closed, because a deletion also covers its own dead letter.
  for (const { target, erasures } of redriven) await eraseDeadLetters(target, erasures);
}

/**
 * Opens the rejected records for the generation, with the latest reason. A record that another operator has closed
 * meanwhile stays closed.
 */
async function storeRejections({ target, rejections }: Redriven, readable: ReadDeadLetter[]): Promise<void> {
  const { control, generation, now } = target;
  const rejected = readable.filter(({ id }) => rejections.has(id));
  const bySpan = Map.groupBy(rejected, ({ entry }) => spanIdOf(entry));
  await changeSpans(control, bySpan.keys(), (span) => {
    for (const letter of bySpan.get(span._id) ?? []) {
      const { id, entry } = letter;
      const onlyIfLacking = isListed(target, letter) ? [generation] : entry.generations;
      const reject = { ...entry, ...rejections.get(id) };
      rejectRecords(span, [reject], { generation, now: now(), onlyIfLacking });
    }
  });
}

/** Throws if an operator has dropped a generation since the redrive began. */
async function requireLiving(control: Db, redriven: Redriven[]): Promise<void> {
  const registry = await readRegistry(control);
  if (!registry) return;
  const living = new Set(livingGenerations(registry).map(({ number }) => number));
  for (const { target, rejections } of redriven) {
    // The drop may have closed its dead letters before `storeRejections` opened them.
    const isLiving = living.has(target.generation);
    if (!isLiving) await closeDeadLetters(control, [...rejections.keys()], target.generation);
  }
  redriven.forEach(({ target }) => generationOf(registry, target.generation));
}
