import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';
import { containersRunning } from '../../infra/dev-servers/docker/engine.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';
import { startStack } from '../../infra/dev-servers/stack.ts';

const hasEngine = spawnSync('docker', ['version'], { timeout: 3_000 }).status === 0;
const report = (line: string) => process.stdout.write(`${line}\n`);

(hasEngine ? describe : describe.skip)(
  'the servers in Docker (skipped unless a Docker engine answers)',
  () => {
    test('serve until they are stopped', async () => {
      await mustRun(process.execPath, ['tests/stand-in-images/main.ts']);
      // It would name the store of the native servers.
      delete process.env.DEV_STORE;
      const dataDir = await mkdtemp(join(tmpdir(), 'docker-stack-'));
      const stack = await startStack({ report, dataDir, providers: ['docker'] });
      try {
        const { kafkaBrokers, mongodbUrl, handles } = stack;
        expect(await containersRunning(handles.containers)).toHaveLength(2);
        const admin = new Kafka({ brokers: [kafkaBrokers], logLevel: logLevel.NOTHING }).admin();
        await admin.connect();
        await admin.createTopics({ topics: [{ topic: 'one' }], waitForLeaders: true });
        expect(await admin.listTopics()).toContain('one');
        await admin.disconnect();
        await using mongo = new MongoClient(mongodbUrl);
        const collection = mongo.db('test').collection('one');
        await collection.insertOne({ name: 'one' });
        expect(await collection.findOne({ name: 'one' })).toMatchObject({ name: 'one' });
      } finally {
        await stack.stop();
        await rm(dataDir, { recursive: true });
      }
      expect(await containersRunning(stack.handles.containers)).toEqual([]);
    });
  },
);
