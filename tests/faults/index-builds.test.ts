import { MongoClient } from 'mongodb';
import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';
import { declaredIndexes, readIndexFaults } from '../../shared/store/structures.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { openStore } from '../support/open-store.ts';
import { useOpened } from '../support/use-opened.ts';

describeOnMongo(['mongod'], 'a start that adds an index to a collection with documents', () => {
  const replicaSet = useOpened(() =>
    startReplicaSet({ members: 3, args: ['--setParameter', 'enableTestCommands=1'] }),
  );
  const start = async (name: string) => {
    const client = new MongoClient(replicaSet.url);
    const database = generationDatabase(client, name, 1);
    await collectionOf(database, 'ticket').insertOne({ _id: 'ti_1' } as never);
    const waits: string[] = [];
    const opened = openStore(client, { DATABASE_NAME: name }, (condition) => waits.push(condition));
    return { database, opened, waits, close: () => client.close() };
  };

  test('builds the index although a secondary is down', async () => {
    const primary = await replicaSet.primary();
    await replicaSet.members.find((member) => member !== primary)?.kill();
    const { database, opened, close } = await start('index_secondary_down');
    await opened;
    expect(await readIndexFaults(database, declaredIndexes)).toEqual([]);
    await close();
    await replicaSet.restore();
  });

  test('logs that the process waits while MongoDB builds the index', async () => {
    const command = { configureFailPoint: 'hangAfterStartingIndexBuild' };
    // Any member may become the primary, so the test sets the fail point on each of them.
    const hang = (mode: string) =>
      Promise.all(
        replicaSet.members.map((member) => member.admin((admin) => admin.command({ ...command, mode }))),
      );
    await hang('alwaysOn');
    const { opened, waits, close } = await start('index_slow');
    await eventually(() => waits.includes('MongoDB is building indexes') || notYet(waits));
    await hang('off');
    await opened;
    await close();
  });
});
