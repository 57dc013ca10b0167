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
import { appliedTo } from '../rebuild/pair-sources.ts';
import { recheck, recheckMax } from '../rebuild/recheck.ts';
import { recordNote } from '../rebuild/transitions.ts';
import { requireWhole } from '../structures.ts';
import { batchSizeAt, createPace } from './pace.ts';
import { lastId, pageOfIds } from './pages.ts';
import { addWrong, emptyResult, outcomeOf, type VerifyResult, type Wrong } from './result.ts';
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
  /** At most this many documents a second; without a limit if absent. */
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

/** One run of the verb. */
type Run = {
  deps: VerifyOperatorDeps;
  options: VerifyOptions;
  generation: number;
  database: Db;
  result: VerifyResult;
  /** Documents that differed, and were not written. A lag of the projectors may be the cause, so a recheck follows. */
  wrong: Wrong[];
};

const reportEveryMs = 2_000;

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
  const run: Run = { deps, options, generation, database, result: emptyResult(generation), wrong: [] };
  if (options.isRepair) await repairAndRecord(run, served);
  else await verifyChosen(run);
  return run.result;
}

const kindsOf = ({ kind }: VerifyOptions): readonly Kind[] => (kind ? [kind] : kinds);

/** Repairs, and writes the repair to the history, also one that fails. */
async function repairAndRecord(run: Run, { number }: Generation): Promise<void> {
  const { deps, options, result } = run;
  const { control, by, now } = deps;
  const note = async (text: string) => {
    const why = `verify --repair${text}; ${options.why}`;
    await changeRegistry(control, recordNote(number, { by, at: await now(), why }));
  };
  await requireSameJoins(deps, number, options.timeoutSeconds);
  const hasIds = (options.ids ?? []).length > 0;
  // A user who may not store the history is refused before the first write.
  if (hasIds) await requireWritable(generationsOf(control));
  else await note(` of every ${options.kind ?? ''} document`.replaceAll('  ', ' '));
  try {
    await verifyChosen(run);
    // A projector with other code may have started since the last batch, and may already have saved its progress.
    await requireSameJoins(deps, number, 0);
  } catch (error) {
    if (result.repaired > 0)
      await note(` stopped (${errorMessage(error)}): ${outcomeOf(options, result)}`).catch(() => undefined);
    throw error;
  }
  if (!hasIds || result.differing > 0) await note(`: ${outcomeOf(options, result)}`);
}

async function verifyChosen(run: Run): Promise<void> {
  const { options, result } = run;
  const ids = [...new Set(options.ids)];
  if (options.kind && ids.length > 0) await verifyIds(run, options.kind, ids);
  else {
    for (const kind of kindsOf(options)) await verifyKind(run, kind);
  }
  await recheckWrong(run);
  for (const one of run.wrong) addWrong(result, one);
}

async function verifyIds(run: Run, kind: Kind, ids: string[]): Promise<void> {
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

/** Reads page by page: a cursor that is killed, or a fail-over, costs one batch at most. */
async function verifyKind(run: Run, kind: Kind): Promise<void> {
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
    const last = await lastId(database, kind);
    for (;;) {
      const ids = await pageOfIds(database, kind, { after, last }, batchSizeAt(options.pace));
      const next = ids.at(-1);
      if (next === undefined) break;
      await verifyBatch(run, kind, ids);
      result.compared += ids.length;
      after = next;
      reportProgress(ids.length, after);
      await keepPace(ids.length);
    }
  } catch (error) {
    reportRest(run, kind, after);
    throw error;
  }
}

/** Prints how to continue after a run that has failed. */
function reportRest({ deps, options }: Run, kind: Kind, after: string): void {
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

/** Verifies some documents, and returns the ids without a document. */
async function verifyBatch(run: Run, kind: Kind, ids: string[]): Promise<string[]> {
  const { deps, options, database, result } = run;
  await requireServed(run);
  const engine = engineOf(database, await deps.now());
  const onStalled = () =>
    deps.report(`${kind}: other clients keep writing some documents first; the run repeats its comparison`);
  const { isRepair } = options;
  const { differing, left, absent } = await verifyDocuments({ ...engine, onStalled }, kind, ids, {
    isRepair,
  });
  for (const id of new Set([...differing.keys(), ...left.keys()])) {
    const one: Wrong = { kind, id, fields: differing.get(id) ?? [], reason: left.get(id) ?? null };
    const isRepaired = isRepair && one.reason === null;
    if (isRepaired) result.repaired += 1;
    if (isRepaired || run.wrong.length >= recheckMax) addWrong(result, one);
    else run.wrong.push(one);
  }
  return absent;
}

/** Compares the documents that differ again, once their projectors have caught up. */
async function recheckWrong(run: Run): Promise<void> {
  const { deps, generation } = run;
  const watermarks = async () => [await appliedTo(deps.control, generation)];
  run.wrong = await recheck({ ...deps, watermarks }, run.wrong, async (kind, ids) => {
    run.wrong = [];
    for (let start = 0; start < ids.length; start += batchSizeAt())
      await verifyBatch(run, kind, ids.slice(start, start + batchSizeAt()));
    return run.wrong;
  });
}

/**
 * Stops once the API serves another generation, because readers have no use for the rest of this one. A repair also
 * stops once a projector with other code has started: each would undo the joins of the other.
 */
async function requireServed({ deps, options, generation }: Run): Promise<void> {
  const registry = await requireRegistry(deps.control);
  if (registry.generation !== generation)
    throw new RebuildRefused(
      `generation ${registry.generation} is served now, no longer ${generation}. See which one to verify`,
      'rebuild status',
    );
  if (options.isRepair) await requireSameJoins(deps, generation, 0);
}

/** Returns a function to call after each batch. It reports the progress every two seconds. */
function createProgress({ deps, result, wrong }: Run, kind: Kind, total: number) {
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
      `${kind}: ${digits(read)} of about ${digits(total)} compared, ${digits(result.differing + wrong.length)} differ, ` +
        `${digits(perSecond)} a second, ${digits(secondsLeft)} s left, after ${after}`,
    );
  };
}
