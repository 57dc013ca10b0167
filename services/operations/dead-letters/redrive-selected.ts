import type { Db } from 'mongodb';
import { type Generation, projectionVersion, RebuildRefused } from '../../../shared/control/generations.ts';
import { type LedgerRecord, recordId } from '../../../shared/control/ledger.ts';
import { readProgress } from '../../../shared/control/progress.ts';
import { recordBytesOf } from '../../../shared/control/record-bytes.ts';
import { beginningOf, livingGenerations, requireRegistry } from '../../../shared/control/registry.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { mongoStore } from '../../projector/materialize/mongo-store.ts';
import type { OperatorDeps } from '../deps.ts';
import type { RedriveResult } from './preview-redrive.ts';
import { readDeadLetters } from './read-parts.ts';
import type { ReadRecords } from './read-records.ts';
import { redrive, type RedriveDeps } from './redrive.ts';
import { countSelected, readSelected } from './select.ts';
import type { Selection } from './selection.ts';

export type RedriveSelectedDeps = Pick<OperatorDeps, 'mongo' | 'control' | 'now'> & {
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string; TOMBSTONE_DAYS: number };
  /** Reads records without bytes from the log; null without Kafka. */
  readRecords: ReadRecords | null;
};

/** A summary names at most this many refused dead letters, and counts the others, which `list` shows. */
const refusalsListedMax = 100;

type Refusal = Extract<RedriveResult, { outcome: 'refused' }>;

/** The outcomes of the selected dead letters. */
export type RedriveSummary = {
  dryRun: boolean;
  deadLetters: number;
  applied: number;
  superseded: number;
  refused: number;
  /** The first refused dead letters. */
  refusals: Refusal[];
  /** The selected ids that name no dead letter. */
  notFound: string[];
};

/** Whether some selected dead letter has no bytes, and its record must be read from the log. */
export async function needsLog(control: Db, selection: Selection): Promise<boolean> {
  for await (const records of readSelected(control, selection)) {
    const ids = records.map(recordId);
    if ((await recordBytesOf(control).countDocuments({ _id: { $in: ids } })) < ids.length) return true;
  }
  return false;
}

type RedriveOptions = { dryRun: boolean; onProgress: (done: number, total: number) => void };

/**
 * Redrives the selected dead letters on every generation that this release can write. If the run fails, the outcomes
 * so far stay, and the operator runs the command again for the others.
 */
export async function redriveSelected(
  deps: RedriveSelectedDeps,
  selection: Selection,
  { dryRun, onProgress }: RedriveOptions,
): Promise<RedriveSummary> {
  const total = await countSelected(deps.control, selection);
  const summary: RedriveSummary = {
    dryRun,
    deadLetters: 0,
    applied: 0,
    superseded: 0,
    refused: 0,
    refusals: [],
    notFound: [],
  };
  const unseenIds = new Set('ids' in selection ? selection.ids : []);
  const addToSummary = (results: RedriveResult[]) => {
    for (const result of results) {
      summary.deadLetters += 1;
      summary[result.outcome] += 1;
      if (result.outcome === 'refused' && summary.refusals.length < refusalsListedMax)
        summary.refusals.push(result);
      unseenIds.delete(result.id);
    }
    onProgress(summary.deadLetters, total);
  };
  for await (const records of readSelected(deps.control, selection)) {
    try {
      for await (const { readable, refused } of readDeadLetters(deps, records)) {
        const outcomes = await redrive(await redriveTargets(deps), readable, { dryRun });
        const results = readable.map((letter) => outcomes.get(letter.id) ?? refuseOtherVersion(letter));
        addToSummary([...results, ...refused]);
      }
    } catch (error) {
      if (error instanceof RebuildRefused && summary.deadLetters === 0) throw error;
      const chunk = records[0] ? ` starting at ${recordId(records[0])}` : '';
      throw new Error(
        `${counted(records.length, 'dead letter')}${chunk}: ${errorMessage(error)}. Done before: ` +
          `${counted(summary.deadLetters, 'dead letter')}; run the command again for the rest`,
      );
    }
  }
  return { ...summary, notFound: [...unseenIds] };
}

/**
 * The generations that a redrive writes: their documents have the projection version of this release. Throws if a build
 * has no collections yet, because a projector creates them with their indexes.
 */
async function redriveTargets({ mongo, control, config, now }: RedriveSelectedDeps): Promise<RedriveDeps[]> {
  const [registry, at] = await Promise.all([requireRegistry(control), now()]);
  const targets = livingGenerations(registry).filter(
    (generation) => generation.projectionVersion === projectionVersion,
  );
  const unstarted = targets.find(({ state, manifest }) => state === 'building' && !manifest);
  if (unstarted)
    throw new RebuildRefused(
      `generation ${unstarted.number} needs the records too, but has no collections yet: start its projectors`,
    );
  return Promise.all(
    targets.map(async (target) => ({
      control,
      generation: target.number,
      isPast: await readIsPast(control, target),
      store: mongoStore(generationDatabase(mongo, config.DATABASE_NAME, target.number)),
      prefix: config.TOPIC_PREFIX,
      tombstoneDays: config.TOMBSTONE_DAYS,
      now: () => at,
    })),
  );
}

async function readIsPast(control: Db, target: Generation): Promise<RedriveDeps['isPast']> {
  const progress = await readProgress(control, target.number);
  const positions = new Map(progress.map((saved) => [partitionKey(saved), saved.applied.position]));
  return ({ isLost, offset, ...place }) => {
    const key = partitionKey(place);
    // A partition without applied records begins where the log began at the start of the build.
    const position = positions.get(key) || beginningOf(target, key);
    // The offsets of a lost record belong to a log that no generation reads any more.
    return isLost || offset < position;
  };
}

/** Refuses a dead letter that only generations of another release lack. */
const refuseOtherVersion = ({ id, entry }: { id: string; entry: LedgerRecord }): RedriveResult => ({
  id,
  outcome: 'refused',
  reason: 'other_version',
  detail: `it is open for generation ${entry.generations.join(', ')} only, of another release: redrive it with that release`,
});
