import type { Socket } from 'node:net';
import type { MongoClient } from 'mongodb';
import { createMongo } from '../../shared/store/connection.ts';
import { useOpened } from '../support/use-opened.ts';

/** Returns the only connection in the pool of a client. The driver has no public access to it. */
function connectionOf(client: MongoClient): { closed: boolean; socket: Socket } {
  const { topology } = client as unknown as {
    topology: { s: { servers: Map<string, { pool: { connections: { first: () => never } } }> } };
  };
  const [server] = topology.s.servers.values();
  if (!server) throw new Error('the client has no server');
  return server.pool.connections.first();
}

const client = useOpened(async () => {
  const mongo = createMongo(process.env.MONGODB_URL ?? '', 'test', { poolSize: 1 });
  await mongo.connect();
  return { mongo, close: () => mongo.close() };
});

test('the driver sends a command again if its connection closes in the meantime', async () => {
  const admin = client.mongo.db('admin');
  await admin.command({ ping: 1 });
  const connection = connectionOf(client.mongo);
  connection.socket.destroy();
  // The pool has not learned of the closed socket yet.
  expect(connection.closed).toBe(false);
  await expect(admin.collection('none').findOne({})).resolves.toBeNull();
}, 30_000);
