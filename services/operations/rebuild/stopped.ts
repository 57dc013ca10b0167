import type { Db } from 'mongodb';
import type { Generation } from '../../../shared/control/generations.ts';
import { progressOf, silentAfterSeconds, topicIdsOf } from '../../../shared/control/progress.ts';
import { isLastFailure, type Failure } from '../../../shared/control/failures.ts';

/** `isFinal`: no projector can ever continue the generation. */
export type Stopped = { reason: string; isFinal: boolean };

/** How to replace a generation that must not be trusted, or cannot continue. */
export const replaceAdvice = ({ number, state }: Pick<Generation, 'number' | 'state'>): string =>
  state === 'active'
    ? 'build another: rebuild start (docs/rebuilding.md, After a gap)'
    : `rebuild drop ${number}, and start another`;

/**
 * Why no projector follows a generation; null while one does, and before the first one has run. `restart` is the command
 * that starts one.
 */
export function whyStopped(
  generation: Generation,
  {
    recreated,
    failure,
    savedAt,
    now,
    restart,
  }: { recreated: string[]; failure: Failure | null; savedAt: Date | null; now: Date; restart: string },
): Stopped | null {
  if (generation.state === 'dropping') return null;
  if (recreated.length > 0)
    return {
      reason:
        `${recreated.join(', ')}: deleted and created again since its records were applied, so no projector can ` +
        `continue: ${replaceAdvice(generation)}`,
      isFinal: true,
    };
  const isSilent = savedAt !== null && now.getTime() - savedAt.getTime() > silentAfterSeconds * 1_000;
  if (failure && isLastFailure(failure, savedAt) && (failure.isFinal || isSilent)) {
    const { at, reason, isFinal } = failure;
    const advice = isFinal ? replaceAdvice(generation) : restart;
    return { reason: `its projectors ended at ${at.toISOString()}: ${reason}: ${advice}`, isFinal };
  }
  if (!isSilent) return null;
  return { reason: `no projector has run since ${savedAt.toISOString()}: ${restart}`, isFinal: false };
}

/**
 * The topics that were deleted and created again since a generation applied records of them. Their offsets now mean other
 * records. `topicIds` are the present ids. Kafka before 2.8 gives topics no id, so such a topic is never listed.
 */
export async function recreatedTopics(
  control: Db,
  generation: number,
  topicIds: ReadonlyMap<string, string>,
): Promise<string[]> {
  const [applied, begun] = await Promise.all([
    topicIdsOf(control).find({ generation }).toArray(),
    progressOf(control).distinct('topic', { generation, position: { $gt: 0 } }),
  ]);
  return applied
    .filter(({ topic, topicId }) => begun.includes(topic) && (topicIds.get(topic) ?? topicId) !== topicId)
    .map(({ topic }) => topic)
    .toSorted();
}
