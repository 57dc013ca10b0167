import type { Db } from 'mongodb';
import { type Generation, generationOf, RebuildRefused } from '../../../shared/control/generations.ts';
import {
  continuesAt,
  describeGaps,
  type LogGap,
  logGapsOf,
  readLogGaps,
} from '../../../shared/control/log-gaps.ts';
import { type Applied, isFollowed, progressOf } from '../../../shared/control/progress.ts';
import {
  changeRegistry,
  requireRegistry,
  withGeneration,
  withTransition,
} from '../../../shared/control/registry.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import type { OperatorDeps } from '../deps.ts';

type AcceptOptions = { why: string; dryRun?: boolean | undefined };

/**
 * Accepts the gaps in the logs of a generation: its projectors may start again, and continue after the lost records.
 * Returns the gaps. An interrupted acceptance is finished by running it again. Throws `RebuildRefused` if there is no
 * gap, or if a projector still runs, which would save its old position again.
 */
export async function acceptGaps(
  { control, by, now }: Pick<OperatorDeps, 'control' | 'by' | 'now'>,
  number: number,
  { why, dryRun = false }: AcceptOptions,
): Promise<LogGap[]> {
  const { state } = generationOf(await requireRegistry(control), number);
  const gaps = await readLogGaps(control, number);
  if (gaps.length === 0) throw new RebuildRefused(`no projector has found a gap in generation ${number}`);
  const at = await now();
  if (await isFollowed(control, number, at))
    throw new RebuildRefused(
      `projectors of generation ${number} have saved progress in the last 30 seconds: each ends when it finds the gap; run ` +
        'this again then',
    );
  if (dryRun) return gaps;
  for (const gap of gaps) await skip(control, gap, at);
  const transition = { generation: number, from: state, to: state, at, by };
  const reason = `${why}: accepted the gap ${describeGaps(gaps)}`;
  await changeRegistry(control, (registry) => {
    const accepted = withBeginnings(generationOf(registry, number), gaps);
    return withTransition(withGeneration(registry, accepted), { ...transition, why: reason });
  });
  await logGapsOf(control).deleteMany({ _id: { $in: gaps.map(({ _id }) => _id) } });
  return gaps;
}

/** The generation with the beginnings of the logs whose first records are gone. */
function withBeginnings(generation: Generation, gaps: LogGap[]): Generation {
  const deleted = gaps.filter(({ kind }) => kind === 'deleted');
  const keys = new Set(deleted.map(partitionKey));
  const others = (generation.acceptedBeginnings ?? []).filter((one) => !keys.has(partitionKey(one)));
  const added = deleted.map((gap) => ({ topic: gap.topic, partition: gap.partition, low: continuesAt(gap) }));
  return { ...generation, acceptedBeginnings: [...others, ...added] };
}

/** Moves the position of a partition past a gap. The leader epoch before it is not one of this log. */
async function skip(control: Db, gap: LogGap, at: Date): Promise<void> {
  const { generation, topic, partition, kind, topicId } = gap;
  if (kind === 'replaced') {
    const identity = topicId === null ? {} : { $set: { 'applied.topicId': topicId } };
    const forgetEpoch = { 'applied.leaderEpoch': true } as const;
    await progressOf(control).updateMany({ generation, topic }, { ...identity, $unset: forgetEpoch });
    return;
  }
  const applied: Applied = { position: continuesAt(gap) };
  if (topicId !== null) applied.topicId = topicId;
  await progressOf(control).updateOne(
    { _id: `${generation}/${topic}/${partition}` },
    {
      $set: { applied },
      $setOnInsert: { generation, topic, partition, end: 0, completeTo: new Date(0), updatedAt: at },
    },
    { upsert: true },
  );
}
