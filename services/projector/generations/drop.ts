import { setTimeout as sleep } from 'node:timers/promises';
import { generationDatabase } from '../../../shared/store/connection.ts';
import type { GenerationRegistry } from '../../../shared/store/generations.ts';
import { progressOf, topicIdsOf, watermarksOf } from '../../../shared/store/progress.ts';
import { liveReplicas } from '../../../shared/store/replicas.ts';
import { deadLettersOf } from '../dead-letters/collection.ts';
import { groupIdOf } from '../runtime/group-id.ts';
import type { OperatorDeps } from './measure.ts';
import { RebuildRefused } from './refused.ts';
import { changeRegistry, requireRegistry } from './registry.ts';
import type { OnStep } from './switch.ts';
import { beginDrop, endDrop, isBuild } from './transitions.ts';

/** A standby is kept for this long, so that a rollback stays possible, unless `--force`; in hours. */
export const standbyHours = 72;
/** The longest that a request which began before a switch may still read the generation before it, in milliseconds. */
const requestsEndAfterMs = 30_000;

/**
 * Drops a generation: its projectors end, and its group, progress, documents and marks on dead letters are removed. Every
 * step may be repeated, so an interrupted drop is finished by running it again.
 */
export async function dropGeneration(
  deps: OperatorDeps,
  number: number,
  { force, why, timeoutSeconds }: { force: boolean; why: string; timeoutSeconds: number },
  onStep: OnStep = () => undefined,
): Promise<'dropped' | 'was-dropped'> {
  const { control, by, now, report } = deps;
  const deadline = performance.now() + timeoutSeconds * 1_000;
  const registry = await requireRegistry(control);
  if (stateOf(registry, number) === 'dropped') {
    // A projector that was frozen meanwhile may have written once more before it noticed the drop.
    await removeEverything(deps, number, deadline, onStep);
    return 'was-dropped';
  }
  if (stateOf(registry, number) === 'standby') {
    // Before anything changes: a replica that does not follow must not find its documents without projectors.
    refuseEarlyDrop(registry, number, force, now());
    await onStep('wait for readers');
    await waitForReaders(deps, number, servedUntilOf(registry, number), deadline);
  }
  await onStep('begin');
  let servedUntil = now();
  const begun = await changeRegistry(control, (read) => {
    refuseEarlyDrop(read, number, force, now());
    servedUntil = servedUntilOf(read, number);
    return beginDrop(number, { by, at: now(), why })(read);
  });
  if (stateOf(begun, number) === 'dropped') return 'was-dropped';
  // It may have been served once more in between.
  await onStep('wait for the last readers');
  await waitForReaders(deps, number, servedUntil, deadline);
  report(`no replica reads generation ${number}; waiting for its projectors to end`);
  await removeEverything(deps, number, deadline, onStep);
  await onStep('end');
  await changeRegistry(control, endDrop(number, { by, at: now(), why }));
  return 'dropped';
}

async function removeEverything(
  deps: OperatorDeps,
  number: number,
  deadline: number,
  onStep: OnStep,
): Promise<void> {
  const { control, mongo, config } = deps;
  await onStep('group');
  await deleteGroup(deps, groupIdOf(config, number), deadline);
  await onStep('progress');
  await progressOf(control).deleteMany({ generation: number });
  await topicIdsOf(control).deleteMany({ generation: number });
  await watermarksOf(control).deleteMany({ _id: number });
  await onStep('dead letters');
  await deadLettersOf(control).updateMany({ generations: number }, { $pull: { generations: number } });
  await deadLettersOf(control).deleteMany({ generations: { $size: 0 } });
  await onStep('documents');
  await generationDatabase(mongo, config.DATABASE_NAME, number).dropDatabase();
}

const stateOf = ({ generations }: GenerationRegistry, number: number) =>
  generations.find((one) => one.number === number)?.state;

/** When the generation may have been served last. A build was never served. */
function servedUntilOf({ generations }: GenerationRegistry, number: number): Date {
  const target = generations.find((one) => one.number === number);
  return !target || isBuild(target) ? new Date(0) : target.since;
}

function refuseEarlyDrop(
  { generations }: GenerationRegistry,
  number: number,
  force: boolean,
  now: Date,
): void {
  const target = generations.find((one) => one.number === number);
  if (target?.state !== 'standby' || force) return;
  const standbyUntil = new Date(target.since.getTime() + standbyHours * 3_600_000);
  if (now < standbyUntil)
    throw new RebuildRefused(
      `generation ${number} is the standby since ${target.since.toISOString()}, and kept for ${standbyHours} hours to roll ` +
        `back to, until ${standbyUntil.toISOString()}; drop it before with --force`,
    );
}

async function waitForReaders(
  { control, now }: OperatorDeps,
  number: number,
  servedBefore: Date,
  deadline: number,
): Promise<void> {
  let servedUntil = servedBefore;
  for (;;) {
    const readers = (await liveReplicas(control, now())).filter(({ generation }) => generation === number);
    const [first] = readers;
    // What a replica has begun before it switched goes on for some seconds.
    if (first) servedUntil = now();
    const mayBeRead = now().getTime() - servedUntil.getTime() < requestsEndAfterMs;
    if (!first && !mayBeRead) return;
    if (performance.now() > deadline)
      throw new RebuildRefused(
        first
          ? `${readers.length} API replicas still read generation ${number}, among them process ${first.pid} on ` +
              `${first.host}: stop them, or wait until they have switched, and run the drop again`
          : `requests may still read generation ${number}: run the drop again in half a minute`,
      );
    await sleep(250);
  }
}

async function deleteGroup({ admin }: OperatorDeps, groupId: string, deadline: number): Promise<void> {
  for (;;) {
    const { groups } = await admin.listGroups();
    if (!groups.some((group) => group.groupId === groupId)) return;
    const { groups: described } = await admin.describeGroups([groupId]);
    const members = described[0]?.members.length ?? 0;
    if (members === 0) {
      await admin.deleteGroups([groupId]).catch((error: unknown) => {
        if (performance.now() > deadline) throw error;
      });
    } else if (performance.now() > deadline)
      throw new RebuildRefused(
        `${members} projectors are still members of the group ${groupId}: stop them, and run the drop again`,
      );
    await sleep(250);
  }
}
