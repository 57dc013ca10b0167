import type { GenerationState } from '../../shared/control/generations.ts';
import { type HoldCause, holdCauses } from '../../shared/control/hold-causes.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { prerequisiteTopics } from '../projector/prerequisite-topics.ts';
import type { PartitionFacts, TopicFacts } from './partitions.ts';

/** A build with a shorter lag than this, in seconds, counts as ready, and such a partition counts as following. */
export const followsWithinSeconds = 10;

/**
 * The progress of a topic or partition in words: whether it follows, waits for a cause, or stands still. `topics` are
 * the topics of its generation.
 */
export function progressText(facts: TopicFacts | PartitionFacts, topics: TopicFacts[]): string {
  const { lag, cause, recordsPerSecond } = facts;
  if (lag === 0 && cause === null) return 'follows';
  const holdCause = isApplying(facts) ? null : cause;
  if (isClose(facts) && (holdCause === null || briefCauses.includes(holdCause))) return 'follows';
  if (holdCause !== null) return causeText(facts, holdCause, topics);
  if (recordsPerSecond > 0) return rateText(facts);
  return cause === 'backlog' ? 'applies a chunk' : 'stands still';
}

/** Causes that usually pass soon: most transactions are short, and most records are delivered immediately. */
const briefCauses: HoldCause[] = ['open_transaction', 'undelivered'];

const isClose = ({ lag, lagSeconds }: TopicFacts): boolean =>
  lag !== null && (lagSeconds ?? Infinity) < followsWithinSeconds;

/** Whether records are being applied. Between two deliveries the next records are always on their way. */
const isApplying = ({ cause, recordsPerSecond }: TopicFacts): boolean =>
  cause === 'backlog' || (cause === 'undelivered' && recordsPerSecond > 0);

/** The reason why records wait, with its known details. */
function causeText(facts: TopicFacts | PartitionFacts, cause: HoldCause, topics: TopicFacts[]): string {
  const { waitingSince, throttledMs } = facts;
  const owner = 'owner' in facts ? facts.owner : null;
  if (cause === 'prerequisites')
    return `waits for ${prerequisiteText(facts, topics) ?? 'the topics that it refers to'}`;
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
 * Names the topic for which a backlog waits: of the topics that its documents refer to, the topic with the longest time
 * left. An unknown time counts as the longest.
 */
function prerequisiteText({ topic }: TopicFacts, topics: TopicFacts[]): string | null {
  const prefix = topic.slice(0, topic.lastIndexOf('.') + 1);
  const referred = prerequisiteTopics(topic, prefix);
  const [last] = topics
    .filter((facts) => referred.includes(facts.topic) && facts.lag !== 0)
    .toSorted((a, b) => (b.secondsLeft ?? Infinity) - (a.secondsLeft ?? Infinity));
  if (!last) return null;
  return last.secondsLeft === null ? last.topic : `${last.topic} (${last.secondsLeft} s left)`;
}

/** The records that a generation has yet to apply, in words. A build applies `afterLoad` of them after its load. */
export const recordsLeft = (state: GenerationState, lag: number, afterLoad: number): string =>
  state === 'building'
    ? `${counted(lag, 'record')} to load, then ${afterLoad} that have come since`
    : `${counted(lag, 'record')} to apply`;

/** `support.contacts/2: 1,690 records to apply, waits for …`, for a partition that does not follow. */
export function lagText(facts: PartitionFacts, topics: TopicFacts[]): string {
  const { topic, partition, lag } = facts;
  const records = lag === null ? 'an unknown number of records' : counted(lag, 'record');
  return `${topic}/${partition}: ${records} to apply, ${progressText(facts, topics)}`;
}
