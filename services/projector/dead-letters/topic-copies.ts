import { CompressionTypes, type Message, type Producer } from 'kafkajs';
import { deadLetterTopic, type DeadLetter } from './collection.ts';
import { buffer } from './dead-letter.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';

/** A topic limits the batch that is sent to a partition, to 1 MB by default. */
const bytesPerSendMax = 512 * 1024;

/**
 * Sends a copy of each dead letter to the dead-letter topic, for its consumers. Of a dead letter that is truncated, or
 * that the topic refuses as too large, it sends a notice without key and value: the store has the rest.
 */
export async function sendCopies(
  deps: { producer: Producer; prefix: string },
  deadLetters: DeadLetter[],
): Promise<void> {
  for (const batch of splitBySize(deadLetters, ({ bytes }) => bytes, bytesPerSendMax)) {
    try {
      await send(
        deps,
        batch.map((deadLetter) => (deadLetter.truncated ? notice(deadLetter) : copy(deadLetter))),
      );
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      if (batch.length > 1) for (const deadLetter of batch) await sendCopies(deps, [deadLetter]);
      else await send(deps, batch.map(notice));
    }
  }
}

const send = ({ producer, prefix }: { producer: Producer; prefix: string }, messages: Message[]) =>
  producer.send({ topic: deadLetterTopic(prefix), messages, compression: CompressionTypes.GZIP });

const isTooLarge = (error: unknown): boolean =>
  ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'].includes(String((error as { type?: unknown } | null)?.type));

const originHeaders = ({ topic, partition, offset, reason, detail, firstAt }: DeadLetter) => ({
  'dead-letter-topic': topic,
  'dead-letter-partition': String(partition),
  'dead-letter-offset': String(offset),
  'dead-letter-reason': reason,
  'dead-letter-detail': detail,
  'dead-letter-time': firstAt.toISOString(),
});

const notice = (deadLetter: DeadLetter): Message => ({
  value: null,
  headers: {
    ...originHeaders(deadLetter),
    'dead-letter-left-out': `${deadLetter.bytes} bytes, too large for a copy`,
  },
});

/** A header of the record that has one of these names is replaced. kafkajs sends no null header, so that is empty. */
function copy(deadLetter: DeadLetter): Message {
  const byName = Map.groupBy(deadLetter.headers, ({ name }) => name);
  const headers = [...byName].map(([name, ofName]) => [
    name,
    ofName.map(({ value }) => buffer(value) ?? Buffer.alloc(0)),
  ]);
  return {
    key: buffer(deadLetter.key),
    value: buffer(deadLetter.value),
    headers: { ...(Object.fromEntries(headers) as Record<string, Buffer[]>), ...originHeaders(deadLetter) },
  };
}
