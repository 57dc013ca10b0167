import type { OnStep } from '../../services/operations/deps.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { storeReport } from '../../services/operations/rebuild/transitions.ts';
import { activeGeneration, type Generation } from '../../shared/control/generations.ts';
import { changeRegistry } from '../../shared/control/registry.ts';
import { samplesOf } from '../../shared/control/samples.ts';
import { standingLetters } from '../support/dead-letters.ts';
import { comparisonReport, generation, longAgo, present, type Rebuild, secondsBefore } from './fixture.ts';

/** Late enough for replicas to notice a switch, and early enough for a projector that saved at `present` to count. */
export const later = secondsBefore(-20);
export const nothing = { documents: 0 };

export const standbyAndActive = () => [generation(1, 'standby'), generation(2, 'active')];
export const activeAndStandby = () => [generation(1, 'active'), generation(2, 'standby')];

export async function stepsOf(verb: (onStep: OnStep) => Promise<unknown>): Promise<string[]> {
  const steps: string[] = [];
  await verb((step) => {
    steps.push(step);
  });
  return steps;
}

/** The commands of two operators on two generations, and assertions on the result. */
export function operatorsOf(rebuild: Rebuild) {
  const depsAt = (now: Date, by: string, onStep?: OnStep) =>
    rebuild.deps({ now: async () => now, by, onStep });
  const switching =
    (number: number, step: 'promote' | 'rollback') =>
    async (onStep?: OnStep, now = present, by = 'ann@host'): Promise<string> => {
      const changes = { onStep, now: async () => now, by };
      const { outcome } = await rebuild.switchOnce(number, { step }, changes);
      return outcome;
    };
  const promote = switching(2, 'promote');
  const rollBack = switching(1, 'rollback');
  const drop = (onStep?: OnStep, now = present, by = 'ann@host', force = true): Promise<string> =>
    dropGeneration(depsAt(now, by, onStep), 2, { force, why: 'test', timeoutSeconds: 0 });
  const compare = async () => {
    const cause = { by: 'bob@host', at: present, why: 'compared' };
    await changeRegistry(rebuild.control, storeReport(2, comparisonReport(), cause));
    return 'compared';
  };

  /** Two generations with a document each, and dead letters of one and of both. */
  async function storeGenerations(generations: Generation[]): Promise<void> {
    await rebuild.storeGenerations(generations);
    for (const number of [1, 2]) {
      await rebuild.databaseOf(number).dropDatabase();
      await rebuild.insertDocument(number);
      const ended = { generation: number, state: 'ended', reason: 'killed', at: longAgo } as const;
      await rebuild.announceProjector({ _id: `${number}`, ...ended });
      const sample = { generation: number, at: longAgo, lagSeconds: 0, applied: 1 };
      await samplesOf(rebuild.control).insertOne({ _id: `${number}/1`, ...sample });
      await rebuild.deadLetter({ offset: number, at: later, generations: [number] });
    }
    await rebuild.deadLetter({ offset: 9, generations: [1, 2] });
  }

  const deadLetterIds = async () => {
    const deadLetters = await standingLetters(rebuild.control);
    return deadLetters.map(({ offset, generations }) => `${offset}: ${String(generations)}`);
  };
  /** The number of documents of a generation, and of the documents about it in each control collection. */
  const countStored = async (number: number) => {
    const counts: Record<string, number> = { documents: await rebuild.countDocuments(number) };
    const ofGeneration = { $or: [{ generation: number }, { _id: number as never }] };
    for (const { collectionName } of await rebuild.control.collections()) {
      // Every generation stays in the registry. `deadLetterIds` names the dead letters that still exist.
      if (collectionName === 'generations' || collectionName === 'dead_letters') continue;
      const count = await rebuild.control.collection(collectionName).countDocuments(ofGeneration);
      if (count > 0) counts[collectionName] = count;
    }
    return counts;
  };
  const completeCounts = () => ({
    documents: 1,
    progress: rebuild.topics.length,
    samples: 1,
    watermarks: 1,
    processes: 1,
  });

  /** Expects that one generation is active and complete, so that readers and projectors can continue. */
  async function expectOneActive(): Promise<void> {
    const { generations, generation: served } = await rebuild.registry();
    const active = generations.filter(({ state }) => state === 'active');
    expect(active.map(({ number }) => number)).toEqual([served]);
    expect(await activeGeneration(rebuild.control)).toMatchObject({ generation: served });
    expect(await countStored(served)).toEqual(completeCounts());
    expect(await deadLetterIds()).toContain(`${served}: ${served}`);
  }

  const historyOf = async () => {
    const { history } = await rebuild.registry();
    return history.map(({ generation: number, to, by }) => `${number} ${to} by ${by.split('@')[0]}`);
  };
  return {
    switching,
    promote,
    rollBack,
    drop,
    compare,
    storeGenerations,
    deadLetterIds,
    countStored,
    completeCounts,
    expectOneActive,
    historyOf,
  };
}
