import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import { type DeadLetter, deadLettersOf } from '../../../shared/control/dead-letters.ts';
import { projectionVersion } from '../../../shared/control/generations.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { recordOf } from '../../projector/dead-letters/dead-letter.ts';
import { mongoStore } from '../../projector/materialize/mongo-store.ts';
import type { OperatorDeps } from '../deps.ts';
import { countCounted, hopelessReasons } from './counted.ts';
import type { ReadRecords } from './read-records.ts';
import {
  type Readable,
  redrive,
  type RedriveDeps,
  type Redriven,
  type RedriveOptions as RedriveOneOptions,
  refuseTruncated,
} from './redrive.ts';
import {
  isCountedRecord,
  type OffsetLetter,
  refuseLost,
  selectedOffsets,
  settleOffsets,
} from './redrive-offsets.ts';
import { bytesPerChunk, countSelected, selected, selectionFilter } from './select.ts';
import type { Selection } from './selection.ts';

export type RedriveSelectedDeps = Pick<OperatorDeps, 'mongo' | 'control' | 'now'> & {
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string; TOMBSTONE_DAYS: number };
  /** Reads records of which only the head or the offset is stored; null without Kafka: these are refused. */
  readRecords?: ReadRecords | null;
};

/** The maximum number of refused dead letters that are named. The rest are counted; `list` shows them. */
const refusalsListedMax = 100;

type Refusal = Extract<Redriven, { outcome: 'refused' }>;

/** The outcomes of the selected dead letters. */
export type RedriveSummary = {
  dryRun: boolean;
  deadLetters: number;
  applied: number;
  superseded: number;
  refused: number;
  /** The first of the refused ones. */
  refusals: Refusal[];
  /** The given ids that name no dead letter. */
  notFound: string[];
};

/** Whether a selected dead letter can only be re-driven from Kafka. */
export async function needsLog(control: Db, selection: Selection): Promise<boolean> {
  const truncated = { $and: [selectionFilter(selection), { truncated: { $ne: null } }] };
  const found = await deadLettersOf(control).findOne(truncated, { projection: { _id: 1 } });
  return found !== null || (await countCounted(control, selection)).count > 0;
}

type RedriveOptions = { dryRun: boolean; onProgress: (done: number, total: number) => void };

/** Re-drives the selected dead letters on every generation that lacks their records and that this release can write. */
export async function redriveSelected(
  deps: RedriveSelectedDeps,
  selection: Selection,
  { dryRun, onProgress }: RedriveOptions,
): Promise<RedriveSummary> {
  const { control } = deps;
  const total = await countSelected(control, selection);
  const summary: RedriveSummary = {
    dryRun,
    deadLetters: 0,
    applied: 0,
    superseded: 0,
    refused: 0,
    refusals: [],
    notFound: [],
  };
  const missing = new Set('ids' in selection ? selection.ids : []);
  const add = (results: Redriven[]) => {
    for (const result of results) {
      summary.deadLetters += 1;
      summary[result.outcome] += 1;
      if (result.outcome === 'refused' && summary.refusals.length < refusalsListedMax)
        summary.refusals.push(result);
    }
    onProgress(summary.deadLetters, total);
  };
  const explain = (chunk: string) => (error: unknown) => {
    const done = `Done before: ${counted(summary.deadLetters, 'dead letter')}`;
    throw new Error(`${chunk}: ${errorMessage(error)}. ${done}; run the command again for the rest`);
  };
  for await (const ids of selected(control, selection)) {
    const deadLetters = await deadLettersOf(control)
      .find({ _id: { $in: ids } })
      .toArray();
    const chunk = `${counted(ids.length, 'dead letter')} starting at ${ids[0] ?? ''}`;
    add(await redriveStored(deps, deadLetters, dryRun).catch(explain(chunk)));
    for (const id of ids) missing.delete(id);
  }
  const limit = 'ids' in selection ? Infinity : selection.limit - summary.deadLetters;
  for await (const { ids, letters } of selectedOffsets(control, selection, limit)) {
    const chunk = `${counted(letters.length, 'counted dead letter')} starting at ${letters[0]?._id ?? ''}`;
    add(await redriveOffsets(deps, letters, dryRun).catch(explain(chunk)));
    for (const id of ids) missing.delete(id);
  }
  return { ...summary, notFound: [...missing] };
}

/** `redrive` if this release applies the dead letter, `purge` if none can: its bytes are lost by that. */
export type LastStep = 'redrive' | 'purge';

/** `show` reads a dead letter that has not been read yet, and names its last step. */
export type NextStep = LastStep | 'show';

/**
 * The next step of each dead letter, by its id. Leaves out those that only another release may apply. Reads only the
 * first 4 MB of the dead letters; the next step of each further one is `show`.
 */
export async function nextSteps(
  deps: RedriveSelectedDeps,
  deadLetters: Pick<DeadLetter, '_id' | 'bytes'>[],
): Promise<Map<string, NextStep>> {
  const [chunk = []] = splitBySize(deadLetters, ({ bytes }) => bytes, bytesPerChunk);
  const next = new Map<string, NextStep>(await lastSteps(deps, chunk));
  for (const { _id } of deadLetters.slice(chunk.length)) next.set(_id, 'show');
  return next;
}

/** The last step of one dead letter; null if only another release may apply it. */
export async function lastStep(
  deps: RedriveSelectedDeps,
  deadLetter: Pick<DeadLetter, '_id'>,
): Promise<LastStep | null> {
  const steps = await lastSteps(deps, [deadLetter]);
  return steps.get(deadLetter._id) ?? null;
}

async function lastSteps(
  deps: RedriveSelectedDeps,
  deadLetters: Pick<DeadLetter, '_id'>[],
): Promise<Map<string, LastStep>> {
  const last = new Map<string, LastStep>();
  if (deadLetters.length === 0) return last;
  const stored = await deadLettersOf(deps.control)
    .find({ _id: { $in: deadLetters.map(({ _id }) => _id) } })
    .toArray();
  const outcomes = await redriveStored({ ...deps, readRecords: null }, stored, true);
  for (const one of outcomes) {
    if (one.outcome !== 'refused') last.set(one.id, 'redrive');
    else if (hopelessReasons.has(one.reason)) last.set(one.id, 'purge');
  }
  for (const { _id, truncated, reason } of stored)
    if (truncated) last.set(_id, onlyFromSource.has(reason) ? 'purge' : 'redrive');
  return last;
}

/** A record that is rejected for its size or its batch is so whatever reads it again. */
const onlyFromSource: ReadonlySet<string> = new Set([...hopelessReasons, 'too_large', 'undecodable']);

async function redriveTargets({ mongo, control, config, now }: RedriveSelectedDeps): Promise<RedriveDeps[]> {
  const [{ generations }, at] = await Promise.all([requireRegistry(control), now()]);
  return generations
    .filter(({ state }) => state !== 'dropping' && state !== 'dropped')
    .filter((one) => one.projectionVersion === projectionVersion)
    .map(({ number: generation }) => ({
      control,
      generation,
      store: mongoStore(generationDatabase(mongo, config.DATABASE_NAME, generation)),
      prefix: config.TOPIC_PREFIX,
      tombstoneDays: config.TOMBSTONE_DAYS,
      now: () => at,
    }));
}

/** Re-drives stored dead letters. The record of one that is truncated is read from Kafka. */
async function redriveStored(deps: RedriveSelectedDeps, deadLetters: DeadLetter[], dryRun: boolean) {
  const readable: Readable[] = [];
  for (const deadLetter of deadLetters) {
    const record = deadLetter.truncated ? await recordInLog(deps, deadLetter) : recordOf(deadLetter);
    if (record) readable.push({ deadLetter, record });
  }
  const byId = new Map(deadLetters.map((one) => [one._id, one]));
  const isOpen = ({ deadLetter }: Readable, generation: number) =>
    byId.get(deadLetter._id)?.generations.includes(generation) ?? false;
  const worst = await redriveOnEach(deps, readable, isOpen, { dryRun });
  return deadLetters.map(
    (one) => worst.get(one._id) ?? (one.truncated ? refuseTruncated(one) : openElsewhere(one)),
  );
}

/** The whole record of a truncated dead letter; null if it is no longer in the log. */
async function recordInLog({ readRecords }: RedriveSelectedDeps, deadLetter: DeadLetter) {
  const { offset, timestampMs, truncated, reason } = deadLetter;
  if (!readRecords || reason === 'undecodable') return null;
  const { records } = await readRecords(deadLetter, [offset]);
  const record = records.get(offset);
  const sha256 = createHash('sha256')
    .update(record?.value ?? '')
    .digest('hex');
  const isSame = record?.position.timestampMs === timestampMs && sha256 === truncated?.sha256;
  return record && isSame ? record : null;
}

/** Re-drives counted dead letters of one tally, whose records are read from Kafka. */
async function redriveOffsets(deps: RedriveSelectedDeps, letters: OffsetLetter[], dryRun: boolean) {
  const [first] = letters;
  const { readRecords } = deps;
  if (!first || !readRecords) return letters.map(refuseLost);
  const worst = new Map<string, Redriven>();
  const byOffset = new Map(letters.map((one) => [one.offset, one]));
  for (let offsets = letters.map(({ offset }) => offset); offsets.length > 0;) {
    const { records, remaining } = await readRecords(first, offsets);
    const readable = [...records].flatMap(([offset, record]): Readable[] => {
      const deadLetter = byOffset.get(offset);
      return deadLetter && isCountedRecord(deadLetter, record) ? [{ deadLetter, record }] : [];
    });
    const isOpen = ({ deadLetter: { offset } }: Readable, generation: number) =>
      byOffset.get(offset)?.generations.includes(generation) ?? false;
    const options = { dryRun, settle: settleOffsets(first.tallyId) };
    for (const [id, one] of await redriveOnEach(deps, readable, isOpen, options)) worst.set(id, one);
    // The letters that were read, and that no generation of this release lacks.
    for (const { deadLetter } of readable) {
      const letter = byOffset.get(deadLetter.offset);
      if (letter && !worst.has(letter._id)) worst.set(letter._id, openElsewhere(letter));
    }
    offsets = remaining;
  }
  return letters.map((one) => worst.get(one._id) ?? refuseLost(one));
}

/** The outcome of a dead letter is its worst one, because it stays if one generation refuses it. */
async function redriveOnEach(
  deps: RedriveSelectedDeps,
  readable: Readable[],
  isOpen: (one: Readable, generation: number) => boolean,
  options: RedriveOneOptions,
) {
  const worst = new Map<string, Redriven>();
  const severity = { superseded: 0, applied: 1, refused: 2 };
  for (const target of await redriveTargets(deps)) {
    const open = readable.filter((one) => isOpen(one, target.generation));
    for (const result of await redrive(target, open, options)) {
      const before = worst.get(result.id);
      if (!before || severity[result.outcome] > severity[before.outcome]) worst.set(result.id, result);
    }
  }
  return worst;
}

const openElsewhere = ({ _id: id, generations }: { _id: string; generations: number[] }): Redriven => ({
  id,
  outcome: 'refused',
  reason: 'other_version',
  detail: `it is open for generation ${generations.join(', ')} only, of another release: re-drive it with that release`,
});
