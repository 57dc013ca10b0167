import type { Db } from 'mongodb';
import {
  type Generation,
  generationOf,
  generationsOf,
  RebuildRefused,
  requireVersion,
} from '../../../shared/control/generations.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { type Kind, kinds } from '../../../shared/documents/resources.ts';
import { digits } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { collectionOf, generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import type { OperatorDeps } from '../deps.ts';
import { readAppliedTo } from '../rebuild/pair-sources.ts';
import { recheck, recheckMax } from '../rebuild/recheck.ts';
import { addNote } from '../rebuild/transitions.ts';
import { requireWhole } from '../structures.ts';
import { batchSizeAt, createPace } from './pace.ts';
import { readIdBatch, readLastId } from './pages.ts';
import {
  addDiffering,
  type DifferingDocument,
  emptyResult,
  repairText,
  type VerifyResult,
} from './result.ts';
import { requireSameJoins } from './same-joins.ts';
import { engineOf, verifyDocuments } from './verify-documents.ts';

export type VerifyOptions = {
  /** All kinds if absent. */
  kind?: Kind | undefined;
  /** The documents to verify; all of the kind if empty. */
  ids?: string[] | undefined;
  /** Continues after this document of the kind, as an earlier run has printed. */
  after?: string | undefined;
  /** Writes the documents that differ. */
  isRepair: boolean;
  /** The maximum number of documents a second; no limit if absent. */
  pace?: number | undefined;
  /** Before a repair: how long projectors that join documents in another way may take to end. */
  timeoutSeconds: number;
  why: string;
};

export type VerifyOperatorDeps = Pick<OperatorDeps, 'mongo' | 'control' | 'now' | 'by' | 'report'> & {
  config: Pick<OperatorDeps['config'], 'DATABASE_NAME'>;
  /** How an operator calls the CLI. */
  cli: string;
  /** A monotonic clock, in milliseconds. */
  nowMs?: (() => number) | undefined;
};

/** One run of `verify`. */
type VerifyRun = {
  deps: VerifyOperatorDeps;
  options: VerifyOptions;
  generation: number;
  database: Db;
  result: VerifyResult;
  /** Differing documents that were not written. They are compared again, because the projectors may only lag. */
  toRecheck: DifferingDocument[];
};

const reportEveryMs = 2_000;
/** During a repair, a projector that joins documents in another way ends the run. */
const withoutWaiting = 0;

/**
 * Joins documents of the served generation again, and compares them with the stored ones. A repair writes the documents
 * that differ. Readers and projectors continue during both.
 */
export async function verify(deps: VerifyOperatorDeps, options: VerifyOptions): Promise<VerifyResult> {
  const registry = await requireRegistry(deps.control);
  const served = generationOf(registry, registry.generation);
  requireVersion(served);
  const hasIds = (options.ids ?? []).length > 0;
  await requireWhole(deps.control, served, hasIds ? [] : kindsOf(options));
  const generation = served.number;
  const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, generation);
  const run: VerifyRun = {
    deps,
    options,
    generation,
    database,
    result: emptyResult(generation),
    toRecheck: [],
  };
  if (options.isRepair) await repairAndRecord(run, served);
  else await verifyChosen(run);
  return run.result;
}

const kindsOf = ({ kind }: VerifyOptions): readonly Kind[] => (kind ? [kind] : kinds);

/** Repairs documents, and writes the repair to the history, even if it fails. */
async function repairAndRecord(run: VerifyRun, { number }: Generation): Promise<void> {
  const { deps, options, result } = run;
  const { control, by, now } = deps;
  const note = async (text: string) => {
    const why = `verify --repair${text}; ${options.why}`;
    await changeRegistry(control, addNote(number, { by, at: await now(), why }));
  };
  await requireSameJoins(deps, number, options.timeoutSeconds);
  const hasIds = (options.ids ?? []).length > 0;
  // A user who may not store the history is refused before the first write.
  if (hasIds) await requireWritable(generationsOf(control));
  else await note(options.kind ? ` of every ${options.kind} document` : ' of every document');
  try {
    await verifyChosen(run);
    // A projector with other code may have started since the last batch, and may already have saved its progress.
    await requireSameJoins(deps, number, withoutWaiting);
  } catch (error) {
    // MongoDB may have made the last write although its reply was lost.
    const outcome = `at least ${repairText(options, result)}`;
    await note(` stopped (${errorMessage(error)}): ${outcome}`).catch(() => undefined);
    throw error;
  }
  if (!hasIds || result.differing > 0) await note(`: ${repairText(options, result)}`);
}

async function verifyChosen(run: VerifyRun): Promise<void> {
  const { options, result } = run;
  const ids = [...new Set(options.ids)];
  if (options.kind && ids.length > 0) {
    await verifyIds(run, options.kind, ids);
  } else {
    for (const kind of kindsOf(options)) await verifyKind(run, kind);
  }
  await recheckDiffering(run);
  for (const document of run.toRecheck) addDiffering(result, document);
}

async function verifyIds(run: VerifyRun, kind: Kind, ids: string[]): Promise<void> {
  const { options, result } = run;
  const keepPace = createPace(options.pace);
  const size = batchSizeAt(options.pace);
  for (let start = 0; start < ids.length; start += size) {
    const batch = ids.slice(start, start + size);
    const absent = await verifyBatch(run, kind, batch);
    result.absent.push(...absent);
    result.compared += batch.length - absent.length;
    await keepPace(batch.length);
  }
}

/** Reads the ids in batches: a cursor that is killed, or a fail-over, costs one batch at most. */
async function verifyKind(run: VerifyRun, kind: Kind): Promise<void> {
  const { options, database, result } = run;
  const keepPace = createPace(options.pace);
  const reportProgress = createProgress(
    run,
    kind,
    await collectionOf(database, kind).estimatedDocumentCount(),
  );
  let after = options.after ?? '';
  try {
    // Documents with later ids that are inserted during the run were joined by the projectors of this release.
    const last = await readLastId(database, kind);
    for (;;) {
      const ids = await readIdBatch(database, kind, { after, last }, batchSizeAt(options.pace));
      const next = ids.at(-1);
      if (next === undefined) break;
      await verifyBatch(run, kind, ids);
      result.compared += ids.length;
      after = next;
      reportProgress(ids.length, after);
      await keepPace(ids.length);
    }
  } catch (error) {
    reportContinuation(run, kind, after);
    throw error;
  }
}

/** Prints how to continue after a run that has failed. */
function reportContinuation({ deps, options }: VerifyRun, kind: Kind, after: string): void {
  const verb = `${deps.cli} verify`;
  const repair = options.isRepair ? ' --repair' : '';
  const from = after === '' ? '' : ` --after ${after}`;
  const laterKinds = options.kind ? [] : kinds.slice(kinds.indexOf(kind) + 1);
  const commands = [
    `${verb} ${kind}${repair}${from}`,
    ...laterKinds.map((later) => `${verb} ${later}${repair}`),
  ];
  deps.report(`to continue: ${commands.join('; ')}`);
}

/** Verifies a batch of documents. Returns the ids without a document. */
async function verifyBatch(run: VerifyRun, kind: Kind, ids: string[]): Promise<string[]> {
  const { deps, options, database, result } = run;
  await requireServed(run);
  const engine = engineOf(database, await deps.now());
  const onStalled = () =>
    deps.report(`${kind}: other clients keep writing some documents first; the run repeats its comparison`);
  const { isRepair } = options;
  const verified = await verifyDocuments({ ...engine, onStalled }, kind, ids, { isRepair });
  const { differing, notRepaired } = verified;
  for (const id of new Set([...differing.keys(), ...notRepaired.keys()])) {
    const fields = differing.get(id) ?? [];
    const reason = notRepaired.get(id) ?? null;
    const document: DifferingDocument = { kind, id, fields, reason };
    const isRepaired = isRepair && reason === null;
    if (isRepaired) result.repaired += 1;
    if (isRepaired || run.toRecheck.length >= recheckMax) addDiffering(result, document);
    else run.toRecheck.push(document);
  }
  return verified.absent;
}

/** Compares the documents that differ again, once their projectors have caught up. */
async function recheckDiffering(run: VerifyRun): Promise<void> {
  const { deps, generation } = run;
  const watermarks = async () => [await readAppliedTo(deps.control, generation)];
  run.toRecheck = await recheck({ ...deps, watermarks }, run.toRecheck, async (kind, ids) => {
    run.toRecheck = [];
    const size = batchSizeAt(undefined);
    for (let start = 0; start < ids.length; start += size) {
      await verifyBatch(run, kind, ids.slice(start, start + size));
    }
    return run.toRecheck;
  });
}

/**
 * Throws once the API serves another generation, because readers no longer see this one. A repair also stops once a
 * projector with other code has started, because each would undo the joins of the other.
 */
async function requireServed({ deps, options, generation }: VerifyRun): Promise<void> {
  const registry = await requireRegistry(deps.control);
  if (registry.generation !== generation)
    throw new RebuildRefused(
      `generation ${registry.generation} is served now, no longer ${generation}. See which one to verify`,
      'rebuild status',
    );
  if (options.isRepair) await requireSameJoins(deps, generation, withoutWaiting);
}

/** Returns a function to call after each batch. It reports the progress every two seconds. */
function createProgress({ deps, result, toRecheck }: VerifyRun, kind: Kind, total: number) {
  const startMs = performance.now();
  let read = 0;
  let reportedMs = startMs;
  return (documents: number, after: string): void => {
    read += documents;
    const nowMs = performance.now();
    if (nowMs - reportedMs < reportEveryMs) return;
    reportedMs = nowMs;
    const perSecond = read / ((nowMs - startMs) / 1_000);
    const secondsLeft = Math.ceil(Math.max(0, total - read) / perSecond);
    deps.report(
      `${kind}: ${digits(read)} of about ${digits(total)} compared, ${digits(result.differing + toRecheck.length)} differ, ` +
        `${digits(perSecond)} a second, ${digits(secondsLeft)} s left, after ${after}`,
    );
  };
}
