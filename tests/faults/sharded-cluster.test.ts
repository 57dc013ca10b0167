import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { type Document, MongoClient } from 'mongodb';
import { generationDatabase } from '../../shared/store/connection.ts';
import { fold } from '../convergence/fold.ts';
import { randomHistory } from '../convergence/history.ts';
import { readDocuments } from '../convergence/read-documents.ts';
import { describeOnMongo, startShardedCluster } from '../support/mongo-servers.ts';
import { logEnds, reached } from '../support/progress.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';
import { seed } from './use-fault-servers.ts';

/** The commands of the recipe in docs/mongodb.md, for this database. */
function shardingCommands(database: string): Document[] {
  const page = readFileSync('docs/mongodb.md', 'utf8');
  const found = /```js\n(sh\.enableSharding.*?)```/s.exec(page);
  const recipe = found?.[1];
  if (recipe === undefined) throw new Error('docs/mongodb.md has no recipe');
  const commands: Document[] = [];
  const sh = {
    enableSharding: (enableSharding: string) => commands.push({ enableSharding }),
    shardCollection: (shardCollection: string, key: Document) => commands.push({ shardCollection, key }),
  };
  runInNewContext(recipe.replaceAll('support_g2', database), { sh });
  return commands;
}

describeOnMongo(['mongod', 'mongos'], 'a sharded cluster of two shards', () => {
  const cluster = useOpened(() => startShardedCluster({ shards: [3, 1] }));
  // A `describe` of its own, so that its clients close before MongoDB.
  describe('with the recipe of docs/mongodb.md', () => {
    const { environment, publish, fatal, cli, startProcess } = useProjector({
      partitions: 2,
      projectors: 0,
      servers: () => ({ KAFKA_BROKERS: process.env.KAFKA_BROKERS ?? '', MONGODB_URL: cluster.url }),
    });
    const shard = async (generation: number) => {
      await using client = new MongoClient(cluster.url);
      for (const command of shardingCommands(`${environment.name}_g${generation}`))
        await client.db('admin').command(command);
    };
    const start = (generation: number) => startProcess({ GENERATION: String(generation) });
    const run = async (...args: string[]) => {
      const { code, errors } = await cli(...args);
      expect({ args, code, errors }).toEqual({ args, code: 0, errors: expect.any(String) as unknown });
    };

    test('stores the fold of the log on both shards through a kill, a promotion and a rollback', async () => {
      const history = randomHistory(seed, 1_500);
      const expectFold = async (generation: number) => {
        const { admin, control, topics, mongo, name } = environment;
        await reached(control, await logEnds(admin, topics), fatal, generation);
        const documents = await readDocuments(generationDatabase(mongo, name, generation));
        expect({ seed, generation, documents }).toEqual({
          seed,
          generation,
          documents: Object.fromEntries(fold(history)),
        });
        return Object.keys(documents).length;
      };
      await shard(1);
      start(1);
      await publish(...history.slice(0, 500));
      // when the primary of a shard is killed while a backlog is applied
      const [shardOfThree] = cluster.shards;
      if (!shardOfThree) throw new Error('there is no shard');
      await (await shardOfThree.primary()).kill();
      await publish(...history.slice(500, 1_000));
      await shardOfThree.restore();
      // when an operator builds, promotes and rolls back a second generation
      await run('rebuild', 'start', '--why', 'test');
      await shard(2);
      start(2);
      await publish(...history.slice(1_000));
      for (const generation of ['2', '1']) await run('rebuild', 'await', generation, '--timeout', '300');
      await run('rebuild', 'compare', '2');
      await run('rebuild', 'promote', '2', '--timeout', '300');
      await run('rebuild', 'rollback', '1', '--timeout', '300');
      // then both generations equal the fold, and both shards contain documents
      const comparedDocuments = (await expectFold(1)) + (await expectFold(2));
      const perShard: number[] = [];
      for (const { url } of cluster.shards) {
        await using client = new MongoClient(url);
        const messages = client.db(`${environment.name}_g1`).collection('messages');
        perShard.push(await messages.countDocuments());
      }
      expect(perShard).toHaveLength(2);
      expect(Math.min(...perShard)).toBeGreaterThan(0);
      process.stdout.write(
        `a sharded cluster: ${comparedDocuments} documents compared, messages by shard: ${perShard.join()}\n`,
      );
    });
  });
});
