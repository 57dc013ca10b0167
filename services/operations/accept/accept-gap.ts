import { RebuildRefused } from '../../../shared/control/generations.ts';
import { removeSkips, storeLost } from '../../../shared/control/ledger-store.ts';
import { logGapsOf, readLogGaps } from '../../../shared/control/log-gaps.ts';
import { type Applied, isFollowed, progressOf, readProgress } from '../../../shared/control/progress.ts';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import { newRevision } from '../../../shared/store/revision.ts';
import { fanOutStart } from '../../projector/materialize/edges.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Acceptable } from './acceptable.ts';
import { type Continuation, continueAfterGaps } from './continue-after-gaps.ts';

type GapDeps = Pick<OperatorDeps, 'control' | 'mongo' | 'config' | 'log' | 'topics' | 'now' | 'report'>;

/** The records from offset `from` on, which a log has lost. Records before `position` were applied. */
type LostRecords = TopicPartition & { from: number; position: number };

/**
 * The gaps of a generation, and how each partition continues after them. Its projectors may start again after the
 * acceptance. To finish an interrupted acceptance, the operator runs it again. Throws `RebuildRefused` if a log cannot
 * be read, or if a projector still runs, because it would save its old position again.
 */
export async function acceptableGaps(deps: GapDeps, number: number): Promise<Acceptable> {
  const { control, log, topics, now } = deps;
  const gaps = await readLogGaps(control, number);
  const progress = await readProgress(control, number);
  const ofTopics = progress.filter(({ topic }) => topics.includes(topic));
  const found = continueAfterGaps({ gaps, progress: ofTopics, log: await log.read(topics) });
  if (typeof found === 'string') throw new RebuildRefused(`nothing is accepted: ${found}`);
  const at = await now();
  const moves = found.some(({ is }) => is !== 'gone');
  if (moves && (await isFollowed(control, number, at)))
    throw new RebuildRefused(
      `projectors of generation ${number} have saved progress in the last 30 seconds: each ends when it finds the gap. Wait ` +
        'for that, then run this again',
    );
  return {
    seen: found.map(({ text }) => text),
    beginnings: found.flatMap(({ topic, partition, is, at: low }) =>
      low === null || is === 'return' ? [] : [{ topic, partition, low }],
    ),
    apply: async () => {
      // Before the progress moves: after an interruption, the old progress still shows that a topic was created again.
      await forgetLost(deps, number, found);
      for (const one of found) await moveProgress(deps, number, one, at);
      // The gaps stop every start until the positions are written.
      await logGapsOf(control).deleteMany({ _id: { $in: gaps.map(({ _id }) => _id) } });
    },
  };
}

/**
 * Forgets lost records, because other records now have their offsets: removes their skips and their positions in
 * documents, and marks their dead letters as lost.
 */
async function forgetLost(deps: GapDeps, generation: number, found: Continuation[]): Promise<void> {
  const lost = found.flatMap(({ topic, partition, lostFrom: from, position }): LostRecords[] =>
    from === null ? [] : [{ topic, partition, from, position }],
  );
  for (const one of lost) await removeSkips(deps.control, generation, one);
  if (lost.length > 0) await storeLost(deps.control, generation, lost);
  for (const [topic, ofTopic] of Map.groupBy(lost, (one) => one.topic))
    await forgetPositions(deps, generation, topic, ofTopic);
}

/** Moves the position of a partition. The leader epoch before the new position is unknown, so it is left out. */
async function moveProgress(
  { control }: GapDeps,
  generation: number,
  { topic, partition, is, at: position, end, topicId }: Continuation,
  at: Date,
): Promise<void> {
  const _id = `${generation}/${topic}/${partition}`;
  if (position === null) {
    await progressOf(control).deleteOne({ _id });
    return;
  }
  const applied: Applied = { position };
  if (topicId !== null) applied.topicId = topicId;
  const identity = { generation, topic, partition, updatedAt: at };
  // The projector has applied no record of the new log of a topic that was created again.
  const nothingApplied = { end, completeTo: new Date(0) };
  const update =
    is === 'reset'
      ? { $set: { applied, ...nothingApplied }, $setOnInsert: identity }
      : { $set: { applied }, $setOnInsert: { ...identity, ...nothingApplied } };
  await progressOf(control).updateOne({ _id }, update, { upsert: true });
}

/**
 * Removes the positions of the lost records of a topic from its documents. Positions order records, and new records
 * take the lost offsets: otherwise a lost tombstone would delete an entity that a new record brings back.
 */
async function forgetPositions(
  { mongo, config, report }: GapDeps,
  generation: number,
  topic: string,
  lost: LostRecords[],
): Promise<void> {
  const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
  if (!kind) return;
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation);
  const documents = collectionOf<StoredDocument>(database, kind);
  /** Matches documents with a position from an offset of their partition on. */
  const positionFrom = (field: 'position' | 'tombstonePosition', offsetOf: (one: LostRecords) => number) =>
    lost.map((one) => ({
      [`${field}.partition`]: one.partition,
      [`${field}.offset`]: { $gte: offsetOf(one) },
    }));
  const firstLost = (one: LostRecords) => one.from;
  const firstUnfinished = (one: LostRecords) => Math.max(one.from, one.position);
  report(`removing the positions of the lost records of ${topic}: three scans of its documents`);
  // Invariant 7: without a position, only a cursor shows that a fan-out has not ended.
  const fanOutCursor = fanOutStart(kind);
  if (fanOutCursor) {
    const unfinished = [
      ...positionFrom('position', firstUnfinished),
      ...positionFrom('tombstonePosition', firstUnfinished),
    ];
    await documents.updateMany({ $or: unfinished }, { $set: { fanOutCursor, revision: newRevision() } });
  }
  const byLostTombstone = positionFrom('tombstonePosition', firstLost);
  const deletedByLostTombstone = byLostTombstone.map((one) => ({ deletedAt: { $exists: true }, ...one }));
  await documents.updateMany(
    { $or: [...positionFrom('position', firstLost), ...deletedByLostTombstone] },
    { $set: { position: null, revision: newRevision() } },
  );
  await documents.updateMany(
    { $or: byLostTombstone },
    { $set: { revision: newRevision() }, $unset: { tombstonePosition: '' } },
  );
}
