import type { Document } from 'mongodb';
import { createMongo, generationDatabase } from './connection.ts';
import { type Command, type CommandLimits, runCommand } from './run-command.ts';

const client = createMongo('mongodb://127.0.0.1:1/?readConcernLevel=majority', 'test');
const { readPreference, readConcern, writeConcern } = generationDatabase(client, 'x', 1);
afterAll(() => client.close());

/** The raw command and its options, as the driver receives them. */
async function sent(command: Command, limits?: CommandLimits) {
  const received: { command: Document; options: unknown }[] = [];
  const run = async (rawCommand: Document, options: unknown) => {
    received.push({ command: rawCommand, options });
    return { ok: 1 };
  };
  await runCommand({ command: run, readPreference, readConcern, writeConcern }, command, limits);
  const [found] = received;
  if (!found) throw new Error('no command was sent');
  return found;
}

const majority = { w: 'majority', wtimeout: 30_000, j: true };

test.each([
  [{ createIndexes: 'c', indexes: [] }, { writeConcern: majority }],
  [{ insert: 'c', documents: [] }, { writeConcern: majority }],
  [{ insert: 'c', documents: [], writeConcern: { w: 1 } }, { writeConcern: { w: 1 } }],
  [{ find: 'c', filter: {} }, { readConcern: { level: 'majority' } }],
  [{ hello: 1 }, {}],
  [{ dbStats: 1 }, {}],
])('%j has its own concern instead of the default of the cluster', async (command, concern) => {
  const { command: whole } = await sent(command);
  expect(whole).toEqual({ ...command, ...concern });
  expect(Object.keys(whole)[0]).toBe(Object.keys(command)[0]);
});

test('a command reads as its database does, and ends without the server too', async () => {
  const { options } = await sent({ hello: 1 });
  expect(options).toMatchObject({
    readPreference: { mode: 'primary' },
    signal: expect.any(AbortSignal) as unknown,
  });
});

test('the limit of the server is part of the command: the driver does not send the option', async () => {
  const { signal } = new AbortController();
  const { command: whole, options } = await sent({ hello: 1 }, { maxTimeMS: 700, signal });
  expect({ whole, options }).toEqual({
    whole: { hello: 1, maxTimeMS: 700 },
    options: { signal, readPreference: expect.objectContaining({ mode: 'primary' }) as unknown },
  });
});
