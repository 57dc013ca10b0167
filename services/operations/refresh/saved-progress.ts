import { randomUUID } from 'node:crypto';
import { RebuildRefused } from '../../../shared/control/generations.ts';
import {
  beginRefresh,
  readRefresh,
  type Refresh,
  removeRefresh,
  saveRefresh,
} from '../../../shared/control/refreshes.ts';
import { digits } from '../../../shared/runtime/counted.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import type { OperatorDeps } from '../deps.ts';
import type { RefreshResult } from './result.ts';

/** An interrupted refresh that is older begins again: the documents that it has read may have become wrong since. */
const continuedWithinMs = 3_600_000;

type Deps = Pick<OperatorDeps, 'control' | 'now' | 'report'>;

/** The progress of a refresh of all documents of a kind. */
export type SavedProgress = {
  /** Saves the last id of a durable batch. Throws if the refresh is no longer that of this run. */
  save: (after: string) => Promise<void>;
  remove: () => Promise<void>;
};

/**
 * Continues the refresh that was interrupted, if there is one and `isFromStart` is unset: the result begins with its
 * findings. From now on only this run saves the progress.
 */
export async function openProgress(
  deps: Deps,
  result: RefreshResult,
  isFromStart = false,
): Promise<SavedProgress> {
  const { control, now } = deps;
  const { generation, kind } = result;
  const key = { control, generation, kind };
  const run = randomUUID();
  const at = await now();
  const before = isFromStart ? null : await readRefresh(key);
  const continued = before && isContinued(before, at) ? before : null;
  if (continued) continueFrom(deps, result, continued);
  const progressAt = async (after: string) => {
    const { read, changed, left, samples, leftSamples } = result;
    const fields = Object.entries(result.fields).map(([field, count]) => ({ field, count }));
    return { savedAt: await now(), after, read, changed, left, fields, samples, leftSamples };
  };
  const begun = await progressAt(result.continuedAfter ?? '');
  await beginRefresh(key, { run, joinedBy, startedAt: continued?.startedAt ?? at, ...begun });
  return {
    save: async (after) => {
      if (await saveRefresh(key, run, await progressAt(after))) return;
      throw new RebuildRefused(
        `another refresh of ${kind} has begun, or a projector of another release has started, so this one ends. See which`,
        'status',
      );
    },
    remove: () => removeRefresh(key, run),
  };
}

const isContinued = (before: Refresh, now: Date): boolean =>
  before.joinedBy === joinedBy &&
  before.after !== '' &&
  now.getTime() - before.savedAt.getTime() < continuedWithinMs;

function continueFrom({ report }: Deps, result: RefreshResult, before: Refresh): void {
  const { after, read, changed, left, fields, samples, leftSamples, startedAt } = before;
  Object.assign(result, { continuedAfter: after, read, changed, left, samples, leftSamples });
  for (const { field, count } of fields) result.fields[field] = count;
  const done = `${digits(read)} read, ${digits(changed)} changed, ${digits(left)} left since ${startedAt.toISOString()}`;
  report(`continues the interrupted refresh after ${after}: ${done}; --from-start begins again`);
}
