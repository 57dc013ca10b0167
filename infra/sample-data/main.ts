import type { Admin } from 'kafkajs';
import { parsePartitionKey } from '../../shared/control/topic-partition.ts';
import { kinds } from '../../shared/documents/resources.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { createProgram } from '../dev-servers/program.ts';
import { keyLines } from './organization.ts';
import { connectKafka, endOffsets, publishSampleData } from './publish.ts';
import { batchesOf, generateSampleData } from './sample-data.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);

/**
 * Returns a topic that has records, because sample events must never mix with those of a company. The topic of the API
 * keys does not count: it may have keys already, for a trial of the API.
 */
async function topicWithRecords(admin: Admin, prefix: string): Promise<string | undefined> {
  const names = kinds.filter((kind) => kind !== 'apiKey').map((kind) => topicOf(kind, prefix));
  const present = (await admin.listTopics()).filter((topic) => names.includes(topic));
  const used = [...(await endOffsets(admin, present))].filter(([, end]) => end > 0);
  // Kafka lists topics in any order.
  return used.map(([key]) => parsePartitionKey(key).topic).sort()[0];
}

async function publish(): Promise<void> {
  const kafka = await connectKafka(process.env);
  try {
    const used = await topicWithRecords(kafka.admin, kafka.prefix);
    if (used) {
      process.stderr.write(
        `${used} has records, and sample data needs empty topics: set another TOPIC_PREFIX.\n`,
      );
      process.exitCode = 1;
      return;
    }
    print(`Publishing sample data to ${kafka.prefix}* …`);
    await kafka.create();
    const sampleData = generateSampleData({ seed: 1, size: 'medium' });
    const recordCount = await publishSampleData(kafka, batchesOf(sampleData));
    print(`Published ${recordCount.toLocaleString('en')} events.`);
    keyLines(sampleData.apiKeys).forEach(print);
  } finally {
    await kafka.close();
  }
}

await createProgram('npm run sample-data')
  .description(
    "Publishes the events of npm start's sample data, about 2,000 tickets, to the topics of TOPIC_PREFIX on " +
      'KAFKA_BROKERS, and prints two API keys, one with a limit. Creates missing topics. Refuses topics that have ' +
      'records already, except the topic of the API keys.',
  )
  .addHelpText('after', '\nSet the addresses first:\n  eval "$(npm run --silent stack -- env)"')
  .action(publish)
  .parseAsync();
