import { availableParallelism, totalmem } from 'node:os';
import { MongoClient } from 'mongodb';
import { kafkaVersion } from '../../infra/dev-servers/native/kafka-settings.ts';
import type { Stack } from '../../infra/dev-servers/provider.ts';

/** The machine and servers of a benchmark. */
export type Machine = { cores: number; memoryGigabytes: number; node: string; kafka: string; store: string };

/** Reads the store's version. A Kafka from KAFKA_BROKERS does not report its version. */
export async function describeMachine(stack: Pick<Stack, 'how' | 'mongodbUrl'>): Promise<Machine> {
  const client = new MongoClient(stack.mongodbUrl);
  try {
    const build = await client.db('admin').command({ buildInfo: 1 });
    const ferretdb = (build.ferretdb as { version?: string } | undefined)?.version;
    return {
      cores: availableParallelism(),
      memoryGigabytes: Math.round(totalmem() / 1024 ** 3),
      node: process.versions.node,
      kafka: stack.how === 'environment' ? 'given by its address' : kafkaVersion,
      store: ferretdb ? `FerretDB ${ferretdb}` : `MongoDB ${String(build.version)}`,
    };
  } finally {
    await client.close();
  }
}
