import {
  type Generation,
  generationOf,
  groupIdOf,
  isBuild,
  RebuildRefused,
  replaceRegistry,
} from '../../../shared/control/generations.ts';
import { closeGeneration } from '../../../shared/control/ledger-store.ts';
import { logGapsOf } from '../../../shared/control/log-gaps.ts';
import {
  processesOf,
  processText,
  readLiveReplicas,
  type Replica,
} from '../../../shared/control/processes.ts';
import { progressOf, watermarksOf } from '../../../shared/control/progress.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { samplesOf } from '../../../shared/control/samples.ts';
import { inGroup } from '../../../shared/kafka/group-members.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';
import { beginDrop, endDrop } from './transitions.ts';

/** A standby is kept for a rollback for this many hours. `--force` drops it earlier. */
const standbyHours = 72;
/**
 * How long new requests may still read the old generation after a promotion, in milliseconds. Replicas read the
 * registry every second, and a read of the registry takes ten seconds at most.
 */
const switchNoticedMs = 12_000;

type DropOptions = {
  force?: boolean | undefined;
  why: string;
  timeoutSeconds: number;
  dryRun?: boolean | undefined;
};

/** One run of `rebuild drop`, which gives up at `deadlineMs` of the monotonic clock. */
type DropRun = OperatorDeps & { number: number; deadlineMs: number };

/**
 * Ends the projectors of a generation, and removes its group, progress, documents and dead letters: Invariant 16 in
 * docs/internals/generations.md. To finish an interrupted drop, the operator runs it again. A dry run only makes the
 * checks, without waiting.
 */
export async function dropGeneration(deps: OperatorDeps, number: number, options: DropOptions) {
  const { control, by, now, onStep } = deps;
  const { why, timeoutSeconds, dryRun } = options;
  const waitMs = dryRun ? 0 : timeoutSeconds * 1_000;
  const drop = { ...deps, number, deadlineMs: performance.now() + waitMs };
  const begun = await beginOnceUnread(drop, options);
  if (dryRun) return begun === 'dropped' ? 'was-dropped' : 'dry-run';
  // Even if another operator has dropped the generation, a frozen projector may have written again after that.
  await removeEverything(drop);
  if (begun === 'dropped') return 'was-dropped';
  await onStep?.('end');
  await changeRegistry(control, endDrop(number, { by, at: await now(), why }));
  return 'dropped';
}

/** Names the replicas that serve a generation, or whose requests in progress read it. */
const readersText = (readers: Replica[], number: number): string =>
  readers
    .map((replica) => {
      const requests = requestsOf(replica, number);
      const name = processText(replica);
      return requests > 0 ? `${counted(requests, 'request')} in ${name}` : `${name}, which serves it`;
    })
    .join(', ');

const requestsOf = ({ inProgress }: Replica, number: number): number =>
  inProgress.find(({ generation }) => generation === number)?.requests ?? 0;

/**
 * Begins the drop once no request reads the generation, unless the drop has already begun. Returns the state of the
 * generation.
 */
async function beginOnceUnread(drop: DropRun, { force = false, why, dryRun }: DropOptions) {
  const { control, by, now, number, onStep } = drop;
  for (;;) {
    const registry = await requireRegistry(control);
    const state = registry.generations.find((generation) => generation.number === number)?.state;
    if (state === 'dropping' || state === 'dropped') return state;
    const checked = generationOf(registry, number);
    const cause = { by, at: await now(), why };
    // Refuses the active generation before the wait.
    const begun = beginDrop(number, cause)(registry);
    refuseEarlyDrop(checked, force, cause.at);
    await onStep?.('wait for readers');
    await waitForReaders(drop, checked);
    if (dryRun) return checked.state;
    await onStep?.('begin');
    // If the registry has changed, requests may read the generation again, so the drop checks and waits once more.
    if (await replaceRegistry(control, registry, begun)) return 'dropping';
  }
}

function refuseEarlyDrop({ number, state, since }: Generation, force: boolean, now: Date): void {
  if (state !== 'standby' || force) return;
  const standbyUntil = new Date(since.getTime() + standbyHours * 3_600_000);
  if (now < standbyUntil)
    throw new RebuildRefused(
      `generation ${number} has been the standby since ${since.toISOString()}, and is kept for ${standbyHours} hours for a ` +
        `rollback, until ${standbyUntil.toISOString()}; to drop it earlier, use --force`,
    );
}

/** Waits until no replica serves the generation and no request in progress reads it. */
async function waitForReaders(drop: DropRun, generation: Generation): Promise<void> {
  const { control, number, now } = drop;
  const isReader = (replica: Replica) => replica.generation === number || requestsOf(replica, number) > 0;
  const servedUntilMs = isBuild(generation) ? -Infinity : generation.since.getTime();
  const findObstacle = async (): Promise<string | null> => {
    const readers = (await readLiveReplicas(control, await now())).filter(isReader);
    if (readers.length > 0) return `generation ${number} is still read by ${readersText(readers, number)}`;
    return (await now()).getTime() - servedUntilMs < switchNoticedMs
      ? `replicas have ${switchNoticedMs / 1_000} seconds to notice that generation ${number} is no longer active`
      : null;
  };
  await waitUntilGone(drop, findObstacle, 'run the drop again later, or wait longer with --timeout');
}

async function removeEverything(drop: DropRun): Promise<void> {
  const { control, mongo, config, number, onStep } = drop;
  await onStep?.('group');
  await deleteGroup(drop);
  await onStep?.('progress');
  await progressOf(control).deleteMany({ generation: number });
  await watermarksOf(control).deleteMany({ _id: number });
  await samplesOf(control).deleteMany({ generation: number });
  await processesOf(control).deleteMany({ role: 'projector', generation: number });
  await logGapsOf(control).deleteMany({ generation: number });
  await onStep?.('dead letters');
  await closeGeneration(control, number);
  await onStep?.('documents');
  await generationDatabase(mongo, config.DATABASE_NAME, number).dropDatabase();
}

/** Deletes the consumer group once its projectors have ended. */
async function deleteGroup(drop: DropRun): Promise<void> {
  const { admin, config, number } = drop;
  const groupId = groupIdOf(config, number);
  const findObstacle = async (): Promise<string | null> => {
    // Asks the coordinator of the group, because a list of all groups lacks those whose coordinator is down.
    const [group] = (await inGroup(groupId, () => admin.describeGroups([groupId]))).groups;
    // Kafka reports a group that does not exist as dead.
    if (group?.state === 'Dead') return null;
    const members = group?.members.length ?? 0;
    if (members > 0) return `the group ${groupId} still has ${counted(members, 'projector')}`;
    return admin.deleteGroups([groupId]).then(
      () => null,
      (error: unknown) => `the group ${groupId} cannot be deleted: ${errorMessage(error)}`,
    );
  };
  await waitUntilGone(drop, findObstacle, 'stop its projectors, and run the drop again');
}

/** Reports each obstacle, and waits until none is left. Refuses the drop if an obstacle remains at the deadline. */
async function waitUntilGone(
  { report, deadlineMs }: DropRun,
  findObstacle: () => Promise<string | null>,
  advice: string,
) {
  const reportChange = reportChanges(report);
  const obstacle = await pollUntil(findObstacle, (text) => text === null, {
    everyMs: 250,
    timeoutMs: deadlineMs - performance.now(),
    onPending: (text) => reportChange(`waiting: ${text}`),
  });
  if (obstacle) throw new RebuildRefused(`${obstacle}: ${advice}`);
}
