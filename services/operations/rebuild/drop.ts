import { setTimeout as sleep } from 'node:timers/promises';
import { generationDatabase } from '../../../shared/store/connection.ts';
import {
  generationOf,
  type Generation,
  type GenerationRegistry,
  groupIdOf,
} from '../../../shared/store/generations.ts';
import { progressOf, topicIdsOf, watermarksOf } from '../../../shared/store/progress.ts';
import { liveReplicas, type Replica } from '../../../shared/store/replicas.ts';
import { deadLettersOf } from '../../projector/dead-letters/collection.ts';
import { failuresOf } from '../../projector/generations/last-failure.ts';
import type { OperatorDeps } from './measure.ts';
import {
  RebuildRefused,
  changeRegistry,
  requireRegistry,
  beginDrop,
  endDrop,
  isBuild,
} from '../../projector/generations/registry.ts';
import type { OnStep } from './switch.ts';

/** A standby is kept for this long, so that a rollback stays possible, unless `--force`; in hours. */
const standbyHours = 72;
/** Replicas read the registry every second, and a read takes ten at most: by then none begins a request on the old generation. */
const switchNoticedMs = 12_000;

export type DropOptions = { force: boolean; why: string; timeoutSeconds: number };

type Waiting = { deps: OperatorDeps; number: number; deadline: number };

/**
 * Drops a generation: its projectors end, and its group, progress, documents and marks on dead letters are removed. Every
 * step may be repeated, so an interrupted drop is finished by running it again.
 */
export async function dropGeneration(
  deps: OperatorDeps,
  number: number,
  { force, why, timeoutSeconds }: DropOptions,
  onStep: OnStep = () => undefined,
): Promise<'dropped' | 'was-dropped'> {
  const { control, by, now } = deps;
  const waiting = { deps, number, deadline: performance.now() + timeoutSeconds * 1_000 };
  const before = stateOf(await requireRegistry(control), number);
  const begun = before === 'dropping' ? before : await beginOnceUnread(waiting, { force, why }, onStep);
  // A projector that was frozen meanwhile may have written once more before it noticed the drop.
  await removeEverything(waiting, onStep);
  if (begun === 'dropped') return 'was-dropped';
  await onStep('end');
  await changeRegistry(control, endDrop(number, { by, at: await now(), why }));
  return 'dropped';
}

/** The replicas that serve a generation, or have requests in progress that read it. */
export async function readersOf({ control, now }: OperatorDeps, number: number): Promise<Replica[]> {
  const replicas = await liveReplicas(control, await now());
  return replicas.filter((replica) => replica.generation === number || requestsOf(replica, number) > 0);
}

/** Begins the drop when no request reads the generation. Returns the state: `dropping`, or `dropped` by another operator. */
async function beginOnceUnread(
  waiting: Waiting,
  { force, why }: Pick<DropOptions, 'force' | 'why'>,
  onStep: OnStep,
): Promise<Generation['state'] | undefined> {
  const { deps, number } = waiting;
  for (;;) {
    const registry = await requireRegistry(deps.control);
    if (stateOf(registry, number) === 'dropped') return 'dropped';
    const checked = generationOf(registry, number);
    const cause = { by: deps.by, at: await deps.now(), why };
    // Refused before it waits, if it is active.
    beginDrop(number, cause)(registry);
    refuseEarlyDrop(checked, force, cause.at);
    await onStep('wait for readers');
    await waitForReaders(waiting, checked);
    await onStep('begin');
    const begun = await changeRegistry(deps.control, (read) => {
      const present = read.generations.find((one) => one.number === number);
      // It may have been served again, and is read again then.
      return present?.since.getTime() === checked.since.getTime() ? beginDrop(number, cause)(read) : read;
    });
    const state = stateOf(begun, number);
    if (state === 'dropping' || state === 'dropped') return state;
  }
}

async function removeEverything(waiting: Waiting, onStep: OnStep): Promise<void> {
  const { deps, number } = waiting;
  const { control, mongo, config } = deps;
  await onStep('group');
  await deleteGroup(waiting);
  await onStep('progress');
  await progressOf(control).deleteMany({ generation: number });
  await topicIdsOf(control).deleteMany({ generation: number });
  await watermarksOf(control).deleteMany({ _id: number });
  await failuresOf(control).deleteMany({ _id: number });
  await onStep('dead letters');
  await deadLettersOf(control).updateMany({ generations: number }, { $pull: { generations: number } });
  await deadLettersOf(control).deleteMany({ generations: { $size: 0 } });
  await onStep('documents');
  await generationDatabase(mongo, config.DATABASE_NAME, number).dropDatabase();
}

const stateOf = ({ generations }: GenerationRegistry, number: number) =>
  generations.find((one) => one.number === number)?.state;

const requestsOf = ({ inProgress = [] }: Replica, number: number): number =>
  inProgress.find(({ generation }) => generation === number)?.requests ?? 0;

function refuseEarlyDrop({ number, state, since }: Generation, force: boolean, now: Date): void {
  if (state !== 'standby' || force) return;
  const standbyUntil = new Date(since.getTime() + standbyHours * 3_600_000);
  if (now < standbyUntil)
    throw new RebuildRefused(
      `generation ${number} has been the standby since ${since.toISOString()}, and is kept for ${standbyHours} hours for a ` +
        `rollback, until ${standbyUntil.toISOString()}; to drop it earlier, use --force`,
    );
}

/** Says which replicas read a generation, in words. */
export const readersText = (readers: Replica[], number: number): string =>
  readers
    .map((replica) => {
      const requests = requestsOf(replica, number);
      const reads = requests > 0 ? `${requests} requests in` : 'the next requests of';
      return `${reads} process ${replica.pid} on ${replica.host}`;
    })
    .join(', ');

/** Waits until no replica serves the generation, and no request reads it. Reports who does. */
async function waitForReaders(
  { deps, number, deadline }: Waiting,
  generation: Pick<Generation, 'state' | 'since'>,
): Promise<void> {
  const servedUntilMs = isBuild(generation) ? -Infinity : generation.since.getTime();
  for (let said = ''; ;) {
    const readers = await readersOf(deps, number);
    const mayBegin = (await deps.now()).getTime() - servedUntilMs < switchNoticedMs;
    if (readers.length === 0 && !mayBegin) return;
    const text = readers[0]
      ? `generation ${number} is still read by ${readersText(readers, number)}`
      : `replicas have ${switchNoticedMs / 1_000} seconds to notice that generation ${number} is not active any more`;
    if (performance.now() > deadline)
      throw new RebuildRefused(`${text}: run the drop again later, or wait longer with --timeout`);
    if (text !== said) deps.report(`waiting: ${text}`);
    said = text;
    await sleep(250);
  }
}

async function deleteGroup({ deps: { admin, config, report }, number, deadline }: Waiting): Promise<void> {
  const groupId = groupIdOf(config, number);
  for (let said = 0; ;) {
    const { groups } = await admin.listGroups();
    if (!groups.some((group) => group.groupId === groupId)) return;
    const { groups: described } = await admin.describeGroups([groupId]);
    const members = described[0]?.members.length ?? 0;
    if (members > 0 && members !== said)
      report(`waiting for the projectors of generation ${number} to end: ${members}`);
    said = members;
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
