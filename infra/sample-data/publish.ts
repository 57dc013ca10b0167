import { CompressionTypes, type Producer } from 'kafkajs';
import type { Kind } from '../../shared/documents/document.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import type { SampleBatch } from './sample-data.ts';
import type { SampleRecord } from './encode.ts';

const codecs = [
  CompressionTypes.ZSTD,
  CompressionTypes.LZ4,
  CompressionTypes.Snappy,
  CompressionTypes.GZIP,
  CompressionTypes.None,
];

/** Sends records; records with the same key keep their order. Call `registerCodecs` first. */
export async function publishRecords(
  { producer, prefix }: { producer: Producer; prefix: string },
  records: SampleRecord[],
  compression: CompressionTypes = CompressionTypes.None,
): Promise<void> {
  const byKind = new Map<Kind, SampleRecord[]>();
  for (const record of records) {
    const group = byKind.get(record.kind);
    if (group) group.push(record);
    else byKind.set(record.kind, [record]);
  }
  const topicMessages = [...byKind].map(([kind, messages]) => ({ topic: topicOf(kind, prefix), messages }));
  if (topicMessages.length > 0) await producer.sendBatch({ topicMessages, compression });
}

/** Sends the batches, each with the next of Kafka's compression codecs. Returns the number of records. */
export async function publishSampleData(
  kafkaTopics: { producer: Producer; prefix: string },
  batches: Iterable<SampleBatch>,
  onBatch: (done: number) => void = () => undefined,
): Promise<number> {
  let sent = 0;
  let turn = 0;
  for (const { records, progress } of batches) {
    await publishRecords(kafkaTopics, records, codecs[turn++ % codecs.length]);
    sent += records.length;
    onBatch(progress);
  }
  return sent;
}
