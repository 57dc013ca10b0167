import type { Admin } from 'kafkajs';
import { pino } from 'pino';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { projectorConfig } from '../../services/projector/config.ts';
import { endOffsets } from '../../services/projector/consumer/progress.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { parsePartitionKey } from '../../shared/control/topic-partition.ts';
import { kinds } from '../../shared/documents/document.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { createProgram } from '../program.ts';
import { publishSampleData } from './publish.ts';
import { batchesOf, generateSampleData } from './sample-data.ts';

const partitions = 3;
const print = (line: string) => void process.stdout.write(`${line}\n`);

/** Sample events must never come among a company's own. A key may be there before, to try the API with it. */
async function topicWithRecords(admin: Admin, prefix: string): Promise<string | undefined> {
  const names = kinds.filter((kind) => kind !== 'apiKey').map((kind) => topicOf(kind, prefix));
  const present = (await admin.listTopics()).filter((topic) => names.includes(topic));
  const used = [...(await endOffsets(admin, present))].filter(([, { end }]) => end > 0);
  // Kafka names them in any order.
  return used.map(([key]) => parsePartitionKey(key).topic).sort()[0];
}

async function publish(): Promise<void> {
  const config = configOrExit(projectorConfig(process.env));
  const { TOPIC_PREFIX: prefix } = config;
  const kafka = createKafka(config, pino({ level: 'silent' }));
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  try {
    await Promise.all([admin.connect(), producer.connect()]);
    const used = await topicWithRecords(admin, prefix);
    if (used) {
      process.stderr.write(
        `${used} has records. Sample data takes empty topics: set another TOPIC_PREFIX.\n`,
      );
      process.exitCode = 1;
      return;
    }
    print(`Publishing sample data to ${prefix}* …`);
    await createTopics(admin, prefix, { partitions: partitions });
    const sampleData = generateSampleData({ seed: 1, size: 'medium' });
    const sent = await publishSampleData({ producer, prefix }, batchesOf(sampleData));
    print(`Published ${sent.toLocaleString('en')} events.`);
    print(`API key: ${sampleData.apiKeys[0]?.token}`);
  } finally {
    await Promise.allSettled([producer.disconnect(), admin.disconnect()]);
  }
}

await createProgram('npm run sample-data')
  .description(
    "Publishes the events of npm start's sample data, about 2,000 tickets, to the topics of TOPIC_PREFIX on " +
      'KAFKA_BROKERS, and prints an API key. Creates topics that are missing. Refused if one but that of the API keys has ' +
      'records.',
  )
  .addHelpText('after', '\nSet the addresses first:\n  eval "$(npm run --silent stack -- env)"')
  .action(publish)
  .parseAsync();
