import { CompressionTypes, type Message, type Producer } from 'kafkajs';
import { deadLetterTopic, type DeadLetter } from './collection.ts';
import { buffer } from './dead-letter.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';

/** A topic's limit holds for what is sent to a partition at a time, 1 MB unless configured. */
const bytesPerSendMax = 512 * 1024;

/**
 * Sends a copy of each letter to the dead-letter topic, for whoever watches it. One that the topic refuses as
 * too large, or that is truncated, is announced there without key, headers and value: the store has what is kept.
 */
export async function sendCopies(
  deps: { producer: Producer; prefix: string },
  deadLetters: DeadLetter[],
): Promise<void> {
  for (const some of splitBySize(deadLetters, ({ bytes }) => bytes, bytesPerSendMax)) {
    try {
      await send(
        deps,
        some.map((deadLetter) => (deadLetter.truncated ? notice(deadLetter) : copy(deadLetter))),
      );
    } catch (error) {
      if (!isTooLarge(error)) throw error;
      if (some.length > 1) for (const deadLetter of some) await sendCopies(deps, [deadLetter]);
      else await send(deps, some.map(notice));
    }
  }
}

const send = ({ producer, prefix }: { producer: Producer; prefix: string }, messages: Message[]) =>
  producer.send({ topic: deadLetterTopic(prefix), messages, compression: CompressionTypes.GZIP });

const isTooLarge = (error: unknown): boolean =>
  ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'].includes(String((error as { type?: unknown } | null)?.type));

const place = ({ topic, partition, offset, reason, detail, firstAt }: DeadLetter) => ({
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
    ...place(deadLetter),
    'dead-letter-left-out': `${deadLetter.bytes} bytes, too large for a copy`,
  },
});

/** A record's own header of a name used here gives way; kafkajs cannot send one without a value, so it is empty. */
function copy(deadLetter: DeadLetter): Message {
  const byName = Map.groupBy(deadLetter.headers, ({ name }) => name);
  const headers = [...byName].map(([name, some]) => [
    name,
    some.map(({ value }) => buffer(value) ?? Buffer.alloc(0)),
  ]);
  return {
    key: buffer(deadLetter.key),
    value: buffer(deadLetter.value),
    headers: { ...(Object.fromEntries(headers) as Record<string, Buffer[]>), ...place(deadLetter) },
  };
}
