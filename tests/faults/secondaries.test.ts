import type { CommandStartedEvent, MongoClient, Timestamp } from 'mongodb';
import { collectionOf, createMongo } from '../../shared/store/connection.ts';
import * as build from '../api/builders.ts';
import { startApi, startStore, type TestApi } from '../api/test-api.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { monitorCommands } from '../support/monitor-commands.ts';
import { useOpened } from '../support/use-opened.ts';

const paths = [
  '/v1/tickets',
  '/v1/tickets?createdAt[lte]=2026-01-02',
  '/v1/tickets/ti_1',
  '/v1/conversations/conv_1',
  '/v1/conversations/conv_1/messages',
  '/v1/channels/chan_1',
];

const documents = {
  ticket: [build.ticket({ id: 'ti_1', title: 'old' })],
  conversation: [build.conversation({ id: 'conv_1' })],
  message: [build.message({ id: 'msg_1', conversationId: 'conv_1' })],
  channel: [build.channel({ id: 'chan_1' })],
};

describeOnMongo(['mongod'], 'data from secondaries', () => {
  const replicaSet = useOpened(() =>
    startReplicaSet({ members: 3, args: ['--setParameter', 'enableTestCommands=1'] }),
  );
  // A `describe` of its own, so that its clients close before MongoDB.
  describe('of a replica set', () => {
    const store = useOpened(() => startStore(documents, replicaSet.url));

    /** Runs the API with an option of the connection string, and returns the commands that the API sent. */
    const withApi = async (option: string, run: (api: TestApi) => Promise<void>) => {
      const commands: CommandStartedEvent[] = [];
      const clients = ['data', 'auth'].map((name) =>
        monitorCommands(createMongo(`${replicaSet.url}${option}`, name)),
      ) as [MongoClient, MongoClient];
      for (const client of clients) client.on('commandStarted', (event) => commands.push(event));
      const [dataClient, authClient] = clients;
      const settings = { MONGODB_URL: `${replicaSet.url}${option}` };
      const api = await startApi({ name: store.name, client: dataClient, authClient }, { settings });
      try {
        await run(api);
      } finally {
        await api.close();
        for (const client of clients) await client.close();
      }
      return commands.filter(({ commandName }) => !['hello', 'endSessions'].includes(commandName));
    };
    const readAll = async (api: TestApi) => {
      for (const path of paths)
        expect({ path, status: (await api.get(path)).status }).toEqual({ path, status: 200 });
    };
    const readWith = (option: string) =>
      replicaSet.underOnePrimary(async ({ host }) => ({ host, commands: await withApi(option, readAll) }));

    test.each(['secondary', 'secondaryPreferred'])(
      'with readPreference=%s come from a member that has applied every change up to the watermark',
      async (mode) => {
        const { commands, host } = await readWith(`&readPreference=${mode}`);
        const reads = commands.filter(isDataRead);
        expect(reads.length).toBeGreaterThan(paths.length);
        for (const read of reads) {
          expect({ collection: read.command.find as unknown, isOfPrimary: read.address === host }).toEqual({
            collection: read.command.find as unknown,
            isOfPrimary: false,
          });
          expect(timeOf(read)).not.toBeNull();
        }
        const otherCommands = commands.filter((event) => !isDataRead(event));
        expect(new Set(otherCommands.map(({ address }) => address))).toEqual(new Set([host]));
      },
    );

    test('without readPreference come from the primary', async () => {
      const { commands, host } = await readWith('');
      expect(new Set(commands.map(({ address }) => address))).toEqual(new Set([host]));
      const reads = commands.filter(isDataRead);
      expect(reads.filter((event) => timeOf(event) !== null)).toEqual([]);
    });

    test('are never older than Data-As-Of even if a secondary lags', async () => {
      const primary = await replicaSet.primary();
      const index = replicaSet.members.findIndex((member) => member !== primary);
      const apply = (mode: string) =>
        replicaSet.members[index]?.admin((admin) =>
          admin.command({ configureFailPoint: 'rsSyncApplyStop', mode }),
        );
      const tags = `&readPreference=secondary&readPreferenceTags=member:${index}`;
      await withApi(tags, async (api) => {
        const counts = { old: 0, waited: 0 };
        /** Whether the answer has the change. Expects an older `Data-As-Of` of an answer without the change. */
        const hasChange = async () => {
          const answer = await api.get('/v1/tickets/ti_1');
          if (answer.status === 503) counts.waited += 1;
          if (answer.status !== 200) return false;
          const { title } = answer.json() as { title: string };
          if (title === 'new') return true;
          counts.old += 1;
          expect(answer.headers.get('Data-As-Of')).not.toBe(changedAt.toISOString());
          return false;
        };
        expect(await hasChange()).toBe(false);
        // given a secondary that applies nothing, and a change before the watermark
        await apply('alwaysOn');
        await collectionOf(store.database, 'ticket').updateOne(
          { _id: 'ti_1' },
          { $set: { 'state.title': 'new' } },
          { writeConcern: { w: 'majority' } },
        );
        await build.dataAsOf(store.control, changedAt);
        // then requests wait for the change until the API refuses them
        while (counts.waited < 2) expect(await hasChange()).toBe(false);
        expect(counts.old).toBeGreaterThan(0);
        // then the API serves the change once the secondary has caught up
        await apply('off');
        while (!(await hasChange())) expect(counts.waited).toBeLessThan(10);
      });
    });
  });
});

const changedAt = new Date('2026-02-01T00:00:00.000Z');

const isDataRead = ({ command }: CommandStartedEvent) =>
  ['tickets', 'conversations', 'messages', 'channels'].includes(String(command.find));
const timeOf = ({ command }: CommandStartedEvent) =>
  (command.readConcern as { afterClusterTime?: Timestamp } | undefined)?.afterClusterTime ?? null;
