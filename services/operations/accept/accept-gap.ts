import { RebuildRefused } from '../../../shared/control/generations.ts';
import { removeSkips, storeLost } from '../../../shared/control/ledger-store.ts';
import { logGapsOf, readLogGaps } from '../../../shared/control/log-gaps.ts';
import {
  type AppliedPosition,
  isFollowed,
  progressOf,
  readProgress,
} from '../../../shared/control/progress.ts';
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
 * Reads the gaps of a generation, and how each partition continues after them. After the acceptance the projectors may
 * start again. To finish an interrupted acceptance, the operator runs it again. Throws `RebuildRefused` if a log cannot
 * be read, or if a projector still runs, because that projector would save its old position again.
 */
export async function readAcceptableGaps(deps: GapDeps, number: number): Promise<Acceptable> {
  const { control, log, topics, now } = deps;
  const gaps = await readLogGaps(control, number);
  const progress = await readProgress(control, number);
  const topicProgress = progress.filter(({ topic }) => topics.includes(topic));
  const result = continueAfterGaps({ gaps, progress: topicProgress, log: await log.read(topics) });
  if ('problem' in result) throw new RebuildRefused(`nothing is accepted: ${result.problem}`);
  const { continuations } = result;
  const at = await now();
  const anyMoves = continuations.some(({ way }) => way !== 'gone');
  if (anyMoves && (await isFollowed(control, number, at)))
    throw new RebuildRefused(
      `projectors of generation ${number} have saved progress in the last 30 seconds: each ends when it finds the gap. Wait ` +
        'for that, then run this again',
    );
  return {
    seen: continuations.map(({ text }) => text),
    beginnings: continuations.flatMap(({ topic, partition, way, nextOffset: low }) =>
      low === null || way === 'reread' ? [] : [{ topic, partition, low }],
    ),
    apply: async () => {
      // This comes before the progress moves: after an interruption, the old progress still shows that a topic was
      // created again.
      await removeTracesOfLost(deps, number, continuations);
      for (const continuation of continuations) await moveProgress(deps, number, continuation, at);
      // The gaps stop every start until the positions are written.
      await logGapsOf(control).deleteMany({ _id: { $in: gaps.map(({ _id }) => _id) } });
    },
  };
}

/**
 * Removes the skips of lost records and their positions in documents, and marks their dead letters as lost, because
 * other records now have their offsets.
 */
async function removeTracesOfLost(
  deps: GapDeps,
  generation: number,
  continuations: Continuation[],
): Promise<void> {
  const allLost = continuations.flatMap(({ topic, partition, lostFrom: from, position }): LostRecords[] =>
    from === null ? [] : [{ topic, partition, from, position }],
  );
  for (const lost of allLost) await removeSkips(deps.control, generation, lost);
  if (allLost.length > 0) await storeLost(deps.control, generation, allLost);
  for (const [topic, lostOfTopic] of Map.groupBy(allLost, (lost) => lost.topic)) {
    await removePositions(deps, generation, topic, lostOfTopic);
  }
}

/** Moves the position of a partition. Leaves out the leader epoch before the new position, which is unknown. */
async function moveProgress(
  { control }: GapDeps,
  generation: number,
  { topic, partition, way, nextOffset: position, logEnd, topicId }: Continuation,
  at: Date,
): Promise<void> {
  const _id = `${generation}/${topic}/${partition}`;
  if (position === null) {
    await progressOf(control).deleteOne({ _id });
    return;
  }
  const applied: AppliedPosition = { position };
  if (topicId !== null) applied.topicId = topicId;
  const identity = { generation, topic, partition, updatedAt: at };
  // The projector has applied no record of the new log of a topic that was created again.
  const nothingApplied = { end: logEnd, completeTo: new Date(0) };
  const update =
    way === 'reset'
      ? { $set: { applied, ...nothingApplied }, $setOnInsert: identity }
      : { $set: { applied }, $setOnInsert: { ...identity, ...nothingApplied } };
  await progressOf(control).updateOne({ _id }, update, { upsert: true });
}

/**
 * Removes the positions of the lost records of a topic from its documents. Positions order records, and new records
 * take the lost offsets. Otherwise a lost tombstone would delete an entity that a new record brings back.
 */
async function removePositions(
  { mongo, config, report }: GapDeps,
  generation: number,
  topic: string,
  lost: LostRecords[],
): Promise<void> {
  const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
  if (!kind) return;
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation);
  const documents = collectionOf<StoredDocument>(database, kind);
  /** Matches documents whose position is this offset of their partition or a later one. */
  const positionFrom = (
    field: 'position' | 'tombstonePosition',
    offsetOf: (records: LostRecords) => number,
  ) =>
    lost.map((records) => ({
      [`${field}.partition`]: records.partition,
      [`${field}.offset`]: { $gte: offsetOf(records) },
    }));
  const firstLost = ({ from }: LostRecords) => from;
  const firstUnfinished = ({ from, position }: LostRecords) => Math.max(from, position);
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
  const deletedByLostTombstone = byLostTombstone.map((filter) => ({
    deletedAt: { $exists: true },
    ...filter,
  }));
  await documents.updateMany(
    { $or: [...positionFrom('position', firstLost), ...deletedByLostTombstone] },
    { $set: { position: null, revision: newRevision() } },
  );
  await documents.updateMany(
    { $or: byLostTombstone },
    { $set: { revision: newRevision() }, $unset: { tombstonePosition: '' } },
  );
}
