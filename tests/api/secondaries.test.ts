import type { MongoClient, Timestamp } from 'mongodb';
import { createMongo } from '../../shared/store/connection.ts';
import { startReplicaSet, type Received } from '../support/replica-set.ts';
import * as build from './builders.ts';
import { mongoUrl, startApi, startStore, type TestApi } from './test-api.ts';
import { useOpened } from '../support/use-opened.ts';

const paths = [
  '/v1/tickets',
  '/v1/tickets?createdAt[lte]=2026-01-02',
  '/v1/tickets/ti_1',
  '/v1/conversations/conv_1',
  '/v1/conversations/conv_1/messages',
  '/v1/channels/chan_1',
];

const store = useOpened(() =>
  startStore({
    ticket: [build.ticket({ id: 'ti_1' })],
    conversation: [build.conversation({ id: 'conv_1' })],
    message: [build.message({ id: 'msg_1', conversationId: 'conv_1' })],
    channel: [build.channel({ id: 'chan_1' })],
  }),
);

/** Asks for every path with this `readPreference`; returns the commands that the members received. */
async function readAll(option: string): Promise<Received[]> {
  const replicaSet = await startReplicaSet(mongoUrl());
  const clients: MongoClient[] = ['data', 'auth'].map((name) =>
    createMongo(`${replicaSet.url}${option}`, name),
  );
  const [mongo, authMongo] = clients as [MongoClient, MongoClient];
  let api: TestApi | null = null;
  try {
    api = await startApi({ name: store.name, client: mongo, authClient: authMongo });
    for (const path of paths) expect([path, (await api.get(path)).status]).toEqual([path, 200]);
  } finally {
    await api?.close();
    for (const client of clients) await client.close();
    replicaSet.stop();
  }
  return replicaSet.received;
}

const isDataRead = ({ command }: Received) =>
  ['tickets', 'conversations', 'messages', 'channels'].includes(String(command.find));
const timeOf = ({ command }: Received) =>
  (command.readConcern as { afterClusterTime?: Timestamp } | undefined)?.afterClusterTime ?? null;

it.each(['secondary', 'secondaryPreferred'])(
  'with readPreference=%s data come from a secondary that has applied every change up to the watermark',
  async (mode) => {
    const received = await readAll(`&readPreference=${mode}`);
    const reads = received.filter(isDataRead);
    expect(reads.length).toBeGreaterThan(paths.length);
    const read = received.findIndex(({ command }) => command.find === 'watermarks');
    expect(received[read]?.member).toBe('primary');
    for (const each of reads) {
      expect([each.command.find, each.member]).toEqual([each.command.find, 'secondary']);
      expect(timeOf(each)).not.toBeNull();
    }
    const others = received.filter((each) => !isDataRead(each) && !each.command.hello);
    expect(new Set(others.map(({ member }) => member))).toEqual(new Set(['primary']));
  },
);

it('without readPreference everything comes from the primary, at no particular time', async () => {
  const received = await readAll('');
  expect(received.filter(({ member, command }) => member === 'secondary' && !command.hello)).toEqual([]);
  expect(received.filter(isDataRead).filter((each) => timeOf(each) !== null)).toEqual([]);
});
