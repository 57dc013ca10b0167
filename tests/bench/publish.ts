import { CompressionTypes } from 'kafkajs';
import { encode, type SampleRecord } from '../../infra/sample-data/encode.ts';
import { type connectKafka, publishRecords } from '../../infra/sample-data/publish.ts';
import { generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { logEnds, type Offsets } from '../support/progress.ts';

const recordsPerRequest = 500;

export type Published = {
  /** The number of records. It equals the number of documents because the benchmark publishes each entity once. */
  records: number;
  ends: Offsets;
};

/**
 * Creates the topics, and publishes each entity of the sample data once. Its records are in structured mode, because
 * the contenders read only JSON values.
 */
export async function publishDataset(
  kafka: Awaited<ReturnType<typeof connectKafka>>,
  tickets: number,
): Promise<Published> {
  await kafka.create();
  const size = { tickets, contacts: Math.ceil(tickets / 3), longestConversation: 20 };
  const { events } = generateSampleData({ seed: 1, size, now: new Date('2026-11-01') });
  let records = 0;
  let batch: SampleRecord[] = [];
  const send = async () => {
    records += batch.length;
    await publishRecords(kafka, batch, CompressionTypes.GZIP);
    batch = [];
  };
  for (const event of events) {
    if (event.version === 1) batch.push({ kind: event.kind, ...encode(event, 'structured') });
    if (batch.length >= recordsPerRequest) await send();
  }
  await send();
  return { records, ends: await logEnds(kafka.admin, kafka.topics) };
}
