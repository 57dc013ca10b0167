import type { GenerationState } from '../../shared/control/generations.ts';
import { holdCauses } from '../../shared/control/hold-causes.ts';
import { kindOfTopic, topicOf } from '../../shared/kafka/topics.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { prerequisites } from '../projector/materialize/edges.ts';
import type { PartitionFacts, TopicFacts } from './partitions.ts';

/** A lag below this, in seconds, needs no attention: a build is ready, and a partition follows. */
export const followsWithinSeconds = 10;

/**
 * The progress of a topic or partition: whether it follows, waits on purpose, or stands still. `topics` are the topics
 * of its generation.
 */
export function progressText(one: TopicFacts | PartitionFacts, topics: TopicFacts[]): string {
  const { lag, lagSeconds, cause, waitingSince, throttledMs, recordsPerSecond, secondsLeft } = one;
  const isClose = lag !== null && (lagSeconds ?? Infinity) < followsWithinSeconds;
  if (lag === 0 && cause === null) return 'follows';
  // Most transactions are short, and most records are delivered at once.
  if (isClose && (cause === 'open_transaction' || cause === 'undelivered')) return 'follows';
  if (cause === 'prerequisites')
    return `waits for ${waitedFor(one, topics) ?? 'the topics that it refers to'}`;
  if (cause === 'open_transaction' && waitingSince)
    return `${holdCauses[cause]}, since ${waitingSince.toISOString()} or before`;
  if (cause === 'starting' && 'owner' in one && one.owner)
    return `member ${one.owner.memberId} on ${one.owner.host} has it, but saves no progress of it here`;
  // Between two deliveries the next records are always on their way.
  const isDelivered = cause === 'backlog' || (cause === 'undelivered' && recordsPerSecond > 0);
  if (cause === 'undelivered' && !isDelivered && throttledMs !== null)
    return `the broker has not delivered the next records: a quota throttles this client, by ${throttledMs} ms`;
  if (cause !== null && !isDelivered) return holdCauses[cause];
  if (isClose) return 'follows';
  if (recordsPerSecond > 0)
    return (
      `applies ${counted(Math.max(1, Math.round(recordsPerSecond)), 'record')} a second` +
      (secondsLeft === null ? '' : ` (${secondsLeft} s left)`)
    );
  return cause === 'backlog' ? 'applies a chunk' : 'stands still';
}

/**
 * The topic that a backlog waits for: of the topics that its documents refer to, the topic with the longest time left.
 * An unknown time counts as the longest.
 */
function waitedFor({ topic }: TopicFacts, topics: TopicFacts[]): string | null {
  const prefix = topic.slice(0, topic.lastIndexOf('.') + 1);
  const kind = kindOfTopic(topic, prefix);
  const names = new Set(kind ? prerequisites(kind).map((of) => topicOf(of, prefix)) : []);
  const [last] = topics
    .filter((one) => names.has(one.topic) && one.lag !== 0)
    .toSorted((a, b) => (b.secondsLeft ?? Infinity) - (a.secondsLeft ?? Infinity));
  if (!last) return null;
  return last.secondsLeft === null ? last.topic : `${last.topic} (${last.secondsLeft} s left)`;
}

/** The number of records that a generation has yet to apply, in words. `afterLoad` counts the records since a load. */
export const recordsLeft = (state: GenerationState, lag: number, afterLoad: number): string =>
  state === 'building'
    ? `${counted(lag, 'record')} to load, then ${afterLoad} that have come since`
    : `${counted(lag, 'record')} to apply`;

/** `support.contacts/2: 1,690 records to apply, waits for …`, for a partition that does not follow. */
export const lagText = (one: PartitionFacts, topics: TopicFacts[]): string =>
  `${one.topic}/${one.partition}: ${one.lag === null ? 'an unknown number of records' : counted(one.lag, 'record')} to apply, ` +
  progressText(one, topics);
