import { deadLettersOf } from '../../shared/control/dead-letters.ts';
import { registerCodecs } from '../../services/projector/kafka/codecs.ts';
import {
  batchesOf,
  generateSampleData,
  recordsOf,
  type SampleBatch,
} from '../../infra/sample-data/sample-data.ts';
import type { SampleRecord } from '../../infra/sample-data/encode.ts';
import { liveChange } from '../../infra/sample-data/live-changes.ts';
import { publishSampleData, publishRecords } from '../../infra/sample-data/publish.ts';
import { fold } from '../convergence/fold.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { applied, createTestEnvironment, runProjector } from '../support/test-environment.ts';
import { decode, type Event } from '../support/events.ts';

jest.setTimeout(180_000);

test('sample data in every codec and content mode, with live changes, is projected to the fold of its log', async () => {
  const testEnvironment = await createTestEnvironment();
  registerCodecs();
  const log: SampleRecord[] = [];
  const sampleData = generateSampleData({ seed: 11, size: 'small' });
  const kafkaTopics = { producer: testEnvironment.producer, prefix: testEnvironment.config.TOPIC_PREFIX };
  const projector = await runProjector(testEnvironment);
  try {
    await publishSampleData(kafkaTopics, recordBatches(batchesOf(sampleData), log));
    for (let turn = 0; turn < 40; turn++) {
      const events = Array.from({ length: 5 }, () => liveChange(sampleData.state, new Date())).flat();
      const records = events.flatMap((event) => recordsOf(sampleData.state.random, event));
      log.push(...records);
      await publishRecords(kafkaTopics, records);
    }
    await applied(testEnvironment, () => projector.fatal);
    expect(await deadLettersOf(testEnvironment.control).countDocuments()).toBe(0);
    const stored = new Map(
      Object.entries(await readDocuments(testEnvironment.database, { state: { $exists: true } })),
    );
    const expected = fold(log.map(eventOf));
    expect([...stored.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
    for (const [id, document] of expected) expect(stored.get(id)).toEqual(document);
  } finally {
    await projector.stop();
    await testEnvironment.close();
  }
});

/** Passes the batches on and adds their records to `log`. */
function* recordBatches(batches: Iterable<SampleBatch>, log: SampleRecord[]): Generator<SampleBatch> {
  for (const batch of batches) {
    log.push(...batch.records);
    yield batch;
  }
}

const eventOf = ({ kind, key, value, headers }: SampleRecord): Event =>
  decode(kind, { key: Buffer.from(key), value: value === null ? null : Buffer.from(value), headers });
