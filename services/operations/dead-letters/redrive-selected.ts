import { counted } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { projectionVersion } from '../../../shared/control/generations.ts';
import { deadLettersOf, type DeadLetter } from '../../../shared/control/dead-letters.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { mongoStore } from '../../projector/materialize/mongo-store.ts';
import type { OperatorDeps } from '../deps.ts';
import { redrive, refuseTruncated, type Redriven, type RedriveDeps } from './redrive.ts';
import { bytesPerChunk, countSelected, selected, type Selection } from './select.ts';

export type RedriveSelectedDeps = Pick<OperatorDeps, 'mongo' | 'control' | 'now'> & {
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string; TOMBSTONE_DAYS: number };
};

/** The maximum number of refused dead letters that are named. The rest are counted; `list` shows them. */
const refusalsListedMax = 100;

export type RedriveSummary = Awaited<ReturnType<typeof redriveSelected>>;

/** Re-drives the selected dead letters on every generation that lacks their records and that this release can write. */
export async function redriveSelected(
  deps: RedriveSelectedDeps,
  selection: Selection,
  { dryRun, onProgress }: { dryRun: boolean; onProgress: (done: number, total: number) => void },
) {
  const { control } = deps;
  const total = await countSelected(control, selection);
  const summary = { dryRun, deadLetters: 0, applied: 0, superseded: 0, refused: 0 };
  const refusals: Extract<Redriven, { outcome: 'refused' }>[] = [];
  const missing = new Set('ids' in selection ? selection.ids : []);
  for await (const ids of selected(control, selection)) {
    const deadLetters = await deadLettersOf(control)
      .find({ _id: { $in: ids } })
      .toArray();
    const results = await redriveOnEach(deps, deadLetters, dryRun).catch((error: unknown) => {
      const reason = errorMessage(error);
      const chunk = `${counted(ids.length, 'dead letter')} starting at ${ids[0] ?? ''}`;
      throw new Error(
        `${chunk}: ${reason}. Done before: ${counted(summary.deadLetters, 'dead letter')}; run the command again for the rest`,
      );
    });
    for (const result of results) {
      summary.deadLetters += 1;
      summary[result.outcome] += 1;
      if (result.outcome === 'refused' && refusals.length < refusalsListedMax) refusals.push(result);
    }
    for (const id of ids) missing.delete(id);
    onProgress(summary.deadLetters, total);
  }
  return { ...summary, refusals, notFound: [...missing] };
}

type NextStep = 'redrive' | 'purge';

/** No release can apply a record that is refused for one of these reasons. A later one may accept what this one refuses otherwise. */
const hopelessReasons: ReadonlySet<string> = new Set<Rejection['reason']>(['not_json', 'key_mismatch']);

/**
 * The next step of each dead letter: `redrive` if this release applies it, `purge` if none can: its bytes are lost by that.
 * Leaves out those that only another release may apply, and all beyond the first 4 MB.
 */
export async function nextSteps(
  deps: RedriveSelectedDeps,
  deadLetters: Pick<DeadLetter, '_id' | 'bytes'>[],
): Promise<Map<string, NextStep>> {
  const [chunk = []] = splitBySize(deadLetters, ({ bytes }) => bytes, bytesPerChunk);
  if (chunk.length === 0) return new Map();
  const stored = await deadLettersOf(deps.control)
    .find({ _id: { $in: chunk.map(({ _id }) => _id) } })
    .toArray();
  const truncated = new Set(stored.flatMap((one) => (one.truncated ? [one._id] : [])));
  const outcomes = await redriveOnEach(deps, stored, true);
  return new Map(
    outcomes.flatMap((one): [string, NextStep][] => {
      if (one.outcome !== 'refused') return [[one.id, 'redrive']];
      const isHopeless = truncated.has(one.id) || hopelessReasons.has(one.reason);
      return isHopeless ? [[one.id, 'purge']] : [];
    }),
  );
}

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

/** The outcome of a dead letter is its worst one, because it stays if one generation refuses it. */
async function redriveOnEach(deps: RedriveSelectedDeps, deadLetters: DeadLetter[], dryRun: boolean) {
  const worst = new Map<string, Redriven>();
  const severity = { superseded: 0, applied: 1, refused: 2 };
  for (const target of await redriveTargets(deps)) {
    const open = deadLetters.filter(({ generations }) => generations.includes(target.generation));
    for (const result of await redrive(target, open, { dryRun })) {
      const before = worst.get(result.id);
      if (!before || severity[result.outcome] > severity[before.outcome]) worst.set(result.id, result);
    }
  }
  return deadLetters.map(
    (one) => worst.get(one._id) ?? (one.truncated ? refuseTruncated(one) : openElsewhere(one)),
  );
}

const openElsewhere = ({ _id: id, generations }: DeadLetter): Redriven => ({
  id,
  outcome: 'refused',
  reason: 'other_version',
  detail: `it is open for generation ${generations.join(', ')} only, of another release: re-drive it with that release`,
});
