import { createMongo, generationDatabase } from './connection.ts';
import { runCommand } from './run-command.ts';

const client = createMongo('mongodb://127.0.0.1:1/?readConcernLevel=majority', 'test');
const database = generationDatabase(client, 'x', 1);
afterAll(() => client.close());

/** The raw command and its options, as the driver receives them. */
async function sent(...[command, limits]: [Parameters<typeof runCommand>[1], object?]) {
  const spy = jest.spyOn(database, 'command').mockResolvedValue({ ok: 1 });
  await runCommand(database, command, limits);
  const [[whole, options] = []] = spy.mock.calls;
  spy.mockRestore();
  return { whole, options };
}

const majority = { w: 'majority', wtimeout: 30_000, j: true };

it.each([
  [{ createIndexes: 'c', indexes: [] }, { writeConcern: majority }],
  [{ insert: 'c', documents: [] }, { writeConcern: majority }],
  [{ insert: 'c', documents: [], writeConcern: { w: 1 } }, { writeConcern: { w: 1 } }],
  [{ find: 'c', filter: {} }, { readConcern: { level: 'majority' } }],
  [{ hello: 1 }, {}],
  [{ dbStats: 1 }, {}],
])('%j has its concern, whatever the default of the cluster is', async (command, concern) => {
  const { whole } = await sent(command);
  expect(whole).toEqual({ ...command, ...concern });
  expect(Object.keys(whole ?? {})[0]).toBe(Object.keys(command)[0]);
});

it('a command reads as its database does, and ends without the server too', async () => {
  const { options } = await sent({ hello: 1 });
  expect(options).toMatchObject({
    readPreference: { mode: 'primary' },
    signal: expect.any(AbortSignal) as unknown,
  });
});

it('the limit of the server is part of the command: the driver does not send the option', async () => {
  const { signal } = new AbortController();
  const { whole, options } = await sent({ hello: 1 }, { maxTimeMS: 700, signal });
  expect({ whole, options }).toEqual({
    whole: { hello: 1, maxTimeMS: 700 },
    options: { signal, readPreference: expect.objectContaining({ mode: 'primary' }) as unknown },
  });
});
