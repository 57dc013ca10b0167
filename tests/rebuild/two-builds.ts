import type { Document as Stored } from 'mongodb';
import { compareDocuments, type CompareOptions } from '../../services/operations/rebuild/compare.ts';
import { createPairSource } from '../../services/operations/rebuild/pair-sources.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { type Kind, resources } from '../../shared/documents/resources.ts';
import { created } from '../support/entities.ts';
import { logEnds, reached } from '../support/progress.ts';
import { publish, runProjector } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { generation, openRebuild, present, secondsBefore } from './fixture.ts';

/** Over a day before `present`, and after the time of the machine: the projectors themselves sweep nothing. */
const then = { createdAt: '2126-03-01T00:00:00Z', updatedAt: '2126-03-01T00:00:00Z' };
const expired = { channelId: 'chan_day', ticketId: 'ti_1' };
export const history = [
  created('channel', 'chan_1'),
  created('channel', 'chan_day', { dataRetentionDays: 1 }),
  created('contact', 'con_1'),
  created('tag', 'tag_1'),
  created('ticket', 'ti_1', { tagIds: ['tag_1'] }),
  created('conversation', 'conv_1'),
  created('message', 'msg_1'),
  created('conversation', 'conv_old', { ...expired, ...then }),
  created('message', 'msg_old', { conversationId: 'conv_old', createdAt: then.createdAt }),
];

/** Generations 1 (active) and 2 (ready), built from one log by projectors that have stopped. */
export const useTwoBuilds = () => useOpened(openTwoBuilds);

async function openTwoBuilds() {
  const rebuild = await openRebuild();
  await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'building')]);
  await rebuild.forgetProgress();
  await publish(rebuild, history);
  const ends = await logEnds(rebuild.admin, rebuild.topics);
  const projectors = await Promise.all(
    [1, 2].map((GENERATION) => runProjector({ ...rebuild, config: { ...rebuild.config, GENERATION } })),
  );
  for (const number of [1, 2])
    await reached(rebuild.control, ends, () => projectors.flatMap(({ fatal }) => fatal), number);
  await Promise.all(projectors.map((projector) => projector.stop()));
  await rebuild.changeGeneration(2, { state: 'ready' });
  // No comparison waits for projectors.
  await progressOf(rebuild.control).updateMany({}, { $set: { completeTo: secondsBefore(-1) } });
  const sideOf = (number: number) => ({ number, database: rebuild.databaseOf(number) });
  const between = () => createPairSource(rebuild, sideOf(1), sideOf(2));
  return {
    rebuild,
    close: rebuild.close,
    sideOf,
    /** Compares the two, at `present` unless the options say otherwise. */
    compare: (options: Partial<CompareOptions> = {}, source = between()) =>
      compareDocuments(source, {
        expectations: [],
        now: async () => present,
        report: () => undefined,
        ...options,
      }),
    collection: (kind: Kind, number = 2) =>
      rebuild.databaseOf(number).collection<Stored & { _id: string }>(resources[kind].collection),
  };
}
