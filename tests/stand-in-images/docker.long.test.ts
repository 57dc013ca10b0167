import { spawnSync } from 'node:child_process';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';
import { acceptsConnections } from '../../infra/dev-servers/native/ports.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { startStack } from '../../infra/dev-servers/stack.ts';
import { describeUnless } from '../support/unless-missing.ts';
import { useFolder } from '../support/use-opened.ts';

const missing =
  spawnSync('docker', ['version'], { timeout: 3_000 }).status === 0 ? null : 'no Docker engine answers';
const report = (line: string) => process.stdout.write(`${line}\n`);

describeUnless(missing, 'the development servers in Docker', () => {
  const folder = useFolder();

  test('serve until the stack stops', async () => {
    await mustRun(process.execPath, ['tests/stand-in-images/main.ts']);
    // This variable would choose a store of the native servers.
    delete process.env.DEV_STORE;
    const stack = await startStack({ report, dataDir: folder.path, providers: ['docker'] });
    try {
      const { kafkaBrokers, mongodbUrl, how } = stack;
      expect(how).toEqual({ kafka: 'docker', store: 'docker' });
      const admin = new Kafka({ brokers: [kafkaBrokers], logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      await admin.createTopics({ topics: [{ topic: 'created' }], waitForLeaders: true });
      expect(await admin.listTopics()).toContain('created');
      await admin.disconnect();
      await using mongo = new MongoClient(mongodbUrl);
      const collection = mongo.db('test').collection('documents');
      await collection.insertOne({ name: 'inserted' });
      expect(await collection.findOne({ name: 'inserted' })).toMatchObject({ name: 'inserted' });
    } finally {
      await stack.stop();
    }
    for (const address of [`kafka://${stack.kafkaBrokers}`, stack.mongodbUrl])
      expect(await acceptsConnections(Number(new URL(address).port))).toBe(false);
  });
});
