import type { GenerationState } from '../../shared/control/generations.ts';
import { type HoldCause, holdCauses } from '../../shared/control/hold-causes.ts';
import { kindOfTopic, topicOf } from '../../shared/kafka/topics.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { prerequisites } from '../projector/materialize/edges.ts';
import type { PartitionFacts, TopicFacts } from './partitions.ts';

/** With a shorter lag than this, in seconds, a build counts as ready, and a partition follows. */
export const followsWithinSeconds = 10;

/**
 * The progress of a topic or partition in words: whether it follows, waits for a cause, or stands still. `topics` are
 * the topics of its generation.
 */
export function progressText(one: TopicFacts | PartitionFacts, topics: TopicFacts[]): string {
  const { lag, cause, recordsPerSecond } = one;
  if (lag === 0 && cause === null) return 'follows';
  const holdCause = isApplying(one) ? null : cause;
  if (isClose(one) && (holdCause === null || briefCauses.includes(holdCause))) return 'follows';
  if (holdCause !== null) return causeText(one, holdCause, topics);
  if (recordsPerSecond > 0) return rateText(one);
  return cause === 'backlog' ? 'applies a chunk' : 'stands still';
}

/** Most transactions are short, and most records are delivered at once. */
const briefCauses: HoldCause[] = ['open_transaction', 'undelivered'];

const isClose = ({ lag, lagSeconds }: TopicFacts): boolean =>
  lag !== null && (lagSeconds ?? Infinity) < followsWithinSeconds;

/** Whether records are being applied. Between two deliveries the next records are always on their way. */
const isApplying = ({ cause, recordsPerSecond }: TopicFacts): boolean =>
  cause === 'backlog' || (cause === 'undelivered' && recordsPerSecond > 0);

/** The cause for which records wait, with the details that are known of it. */
function causeText(one: TopicFacts | PartitionFacts, cause: HoldCause, topics: TopicFacts[]): string {
  const { waitingSince, throttledMs } = one;
  const owner = 'owner' in one ? one.owner : null;
  if (cause === 'prerequisites')
    return `waits for ${waitedFor(one, topics) ?? 'the topics that it refers to'}`;
  if (cause === 'open_transaction' && waitingSince)
    return `${holdCauses[cause]}, since ${waitingSince.toISOString()} or before`;
  if (cause === 'starting' && owner)
    return `member ${owner.memberId} on ${owner.host} has it, but saves no progress of it here`;
  if (cause === 'undelivered' && throttledMs !== null)
    return `the broker has not delivered the next records: a quota throttles this client, by ${throttledMs} ms`;
  return holdCauses[cause];
}

function rateText({ recordsPerSecond, secondsLeft }: TopicFacts): string {
  const rate = counted(Math.max(1, Math.round(recordsPerSecond)), 'record');
  const left = secondsLeft === null ? '' : ` (${secondsLeft} s left)`;
  return `applies ${rate} a second${left}`;
}

/**
 * The topic that a backlog waits for: of the topics that its documents refer to, the topic with the longest time left.
 * An unknown time counts as the longest.
 */
function waitedFor({ topic }: TopicFacts, topics: TopicFacts[]): string | null {
  const prefix = topic.slice(0, topic.lastIndexOf('.') + 1);
  const kind = kindOfTopic(topic, prefix);
  if (!kind) return null;
  const referred = prerequisites(kind).map((other) => topicOf(other, prefix));
  const [last] = topics
    .filter((one) => referred.includes(one.topic) && one.lag !== 0)
    .toSorted((a, b) => (b.secondsLeft ?? Infinity) - (a.secondsLeft ?? Infinity));
  if (!last) return null;
  return last.secondsLeft === null ? last.topic : `${last.topic} (${last.secondsLeft} s left)`;
}

/** The records that a generation has yet to apply, in words. `afterLoad`: how many a build applies after its load. */
export const recordsLeft = (state: GenerationState, lag: number, afterLoad: number): string =>
  state === 'building'
    ? `${counted(lag, 'record')} to load, then ${afterLoad} that have come since`
    : `${counted(lag, 'record')} to apply`;

/** `support.contacts/2: 1,690 records to apply, waits for …`, for a partition that does not follow. */
export function lagText(one: PartitionFacts, topics: TopicFacts[]): string {
  const { topic, partition, lag } = one;
  const records = lag === null ? 'an unknown number of records' : counted(lag, 'record');
  return `${topic}/${partition}: ${records} to apply, ${progressText(one, topics)}`;
}
