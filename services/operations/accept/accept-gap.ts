import type { Collection } from 'mongodb';
import { type LogBeginning, RebuildRefused } from '../../../shared/control/generations.ts';
import { removeSkips, storeLost } from '../../../shared/control/ledger-store.ts';
import { type LogGap, logGapsOf, readLogGaps } from '../../../shared/control/log-gaps.ts';
import {
  type AppliedPosition,
  isFollowed,
  progressOf,
  readProgress,
} from '../../../shared/control/progress.ts';
import type { TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import { newRevision } from '../../../shared/store/revision.ts';
import { fanOutStart } from '../../projector/materialize/edges.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Acceptable } from './acceptable.ts';
import { type Continuation, continueAfterGaps } from './continue-after-gaps.ts';

type GapDeps = Pick<OperatorDeps, 'control' | 'mongo' | 'config' | 'log' | 'topics' | 'now' | 'report'>;

/** The records of one log from offset `from` on, which it has lost. Records before `position` were applied. */
type LostRange = TopicPartition & { from: number; position: number };

/**
 * Reads the gaps of a generation, and how each partition continues after them. After the acceptance the projectors may
 * start again. To finish an interrupted acceptance, the operator runs it again. Throws `RebuildRefused` if a log cannot
 * be read, or if a projector still runs, because that projector would save its old position again.
 */
export async function readAcceptableGaps(deps: GapDeps, generation: number): Promise<Acceptable> {
  const { control, log, topics, now } = deps;
  const gaps = await readLogGaps(control, generation);
  const progress = await readProgress(control, generation);
  const topicProgress = progress.filter(({ topic }) => topics.includes(topic));
  const result = continueAfterGaps({ gaps, progress: topicProgress, log: await log.read(topics) });
  if ('problem' in result) throw new RebuildRefused(`nothing is accepted: ${result.problem}`);
  const { continuations } = result;
  const at = await now();
  const anyMoves = continuations.some(({ way }) => way !== 'gone');
  if (anyMoves && (await isFollowed(control, generation, at)))
    throw new RebuildRefused(
      `projectors of generation ${generation} have saved progress in the last 30 seconds: each ends when it finds the gap. Wait ` +
        'for that, then run this again',
    );
  return {
    seen: continuations.map(({ text }) => text),
    beginnings: beginningsOf(continuations),
    apply: () => continueGeneration(deps, generation, { gaps, continuations, at }),
  };
}

/** The new beginnings of the logs that have lost their first records. */
function beginningsOf(continuations: Continuation[]): LogBeginning[] {
  const beginnings: LogBeginning[] = [];
  for (const { topic, partition, way, nextOffset } of continuations) {
    if (nextOffset === null || way === 'reread') continue;
    beginnings.push({ topic, partition, low: nextOffset });
  }
  return beginnings;
}

/** Moves a generation behind its gaps, and removes them. */
async function continueGeneration(
  deps: GapDeps,
  generation: number,
  { gaps, continuations, at }: { gaps: LogGap[]; continuations: Continuation[]; at: Date },
): Promise<void> {
  // This comes before the progress moves: after an interruption, the old progress still shows that a topic was
  // created again.
  await removeTracesOfLost(deps, generation, continuations);
  for (const continuation of continuations) await moveProgress(deps, generation, continuation, at);
  // The gaps stop every start until the positions are written.
  await logGapsOf(deps.control).deleteMany({ _id: { $in: gaps.map(({ _id }) => _id) } });
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
  const ranges: LostRange[] = [];
  for (const { topic, partition, lostFrom, position } of continuations) {
    if (lostFrom !== null) ranges.push({ topic, partition, from: lostFrom, position });
  }
  for (const range of ranges) await removeSkips(deps.control, generation, range);
  if (ranges.length > 0) await storeLost(deps.control, generation, ranges);
  for (const [topic, rangesOfTopic] of Map.groupBy(ranges, (range) => range.topic)) {
    await removePositions(deps, generation, topic, rangesOfTopic);
  }
}

/**
 * Moves the position of a partition. The new progress has no leader epoch, because the epoch of the record before the
 * new position is unknown.
 */
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
  ranges: LostRange[],
): Promise<void> {
  const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
  if (!kind) return;
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation);
  const documents = collectionOf<StoredDocument>(database, kind);
  report(`removing the positions of the lost records of ${topic}: three scans of its documents`);
  await markUnfinishedFanOuts(documents, kind, ranges);
  await removeLostPositions(documents, ranges);
  await removeLostTombstonePositions(documents, ranges);
}

/** Matches documents whose position is this offset of a partition or a later one. */
const positionFrom = (field: 'position' | 'tombstonePosition', partition: number, offset: number) => ({
  [`${field}.partition`]: partition,
  [`${field}.offset`]: { $gte: offset },
});

/** Invariant 7: without a position, only a cursor shows that a fan-out has not ended. */
async function markUnfinishedFanOuts(
  documents: Collection<StoredDocument>,
  kind: Kind,
  ranges: LostRange[],
): Promise<void> {
  const fanOutCursor = fanOutStart(kind);
  if (!fanOutCursor) return;
  const unfinished = ranges.flatMap(({ partition, from, position }) => {
    const firstUnfinished = Math.max(from, position);
    return [
      positionFrom('position', partition, firstUnfinished),
      positionFrom('tombstonePosition', partition, firstUnfinished),
    ];
  });
  await documents.updateMany({ $or: unfinished }, { $set: { fanOutCursor, revision: newRevision() } });
}

/** Removes the position of each document that a lost record wrote, or that a lost tombstone deleted. */
async function removeLostPositions(
  documents: Collection<StoredDocument>,
  ranges: LostRange[],
): Promise<void> {
  const writtenByLost = ranges.flatMap(({ partition, from }) => [
    positionFrom('position', partition, from),
    { deletedAt: { $exists: true }, ...positionFrom('tombstonePosition', partition, from) },
  ]);
  await documents.updateMany({ $or: writtenByLost }, { $set: { position: null, revision: newRevision() } });
}

async function removeLostTombstonePositions(
  documents: Collection<StoredDocument>,
  ranges: LostRange[],
): Promise<void> {
  const withLostTombstone = ranges.map(({ partition, from }) =>
    positionFrom('tombstonePosition', partition, from),
  );
  await documents.updateMany(
    { $or: withLostTombstone },
    { $set: { revision: newRevision() }, $unset: { tombstonePosition: '' } },
  );
}
