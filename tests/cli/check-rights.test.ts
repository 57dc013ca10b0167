import { ensureRegistry } from '../../shared/control/generations.ts';
import { findReadModel } from '../../shared/control/manifest.ts';
import { processesOf } from '../../shared/control/processes.ts';
import { watermarksOf } from '../../shared/control/progress.ts';
import { controlDatabase, createMongo } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { createAnsweringProxy } from '../support/answering-proxy.ts';
import { runCli } from '../support/run-cli.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());
let proxy: ReturnType<typeof createAnsweringProxy>;
let url = '';

beforeAll(async () => {
  await ensureRegistry(testEnvironment.control);
  await ensureIndexes(testEnvironment.database);
  await watermarksOf(testEnvironment.control).insertOne({ _id: 1, completeTo: new Date(0) });
  proxy = createAnsweringProxy(testEnvironment.config.MONGODB_URL);
  // The long limit keeps a busy machine from looking like an absent MongoDB.
  url = proxiedUrl(await proxy.listen(), 'serverSelectionTimeoutMS=60000');
});
afterAll(() => proxy.close());

/** Lets MongoDB refuse one command, as if the user lacked the right to it. */
const refuseCommand = (refused: string) => {
  proxy.state.answer = ({ name }) =>
    name === refused ? { code: 13, errmsg: `not authorized to execute command ${refused}` } : null;
};
const check = (role: string) =>
  runCli({ ...testEnvironment.variables, LOG_LEVEL: 'silent', MONGODB_URL: url }, ['check', role]);

test.each([
  ['projector', 'update progress'],
  ['projector', 'update preflight'],
  ['api', 'find qas'],
  ['api', 'update processes'],
  ['api', 'delete processes'],
])('the check of the role %s tries the right to %s', async (role, command) => {
  refuseCommand(command);
  const { code, text } = await check(role);
  expect(text).toMatch(
    new RegExp(`^FAILED .*not authorized to execute command ${command}\\. .*MONGODB_URL`, 'm'),
  );
  expect(code).toBe(1);
});

test('the check of an API leaves no announcement', async () => {
  refuseCommand('nothing');
  await processesOf(testEnvironment.control).deleteMany({});
  expect((await check('api')).code).toBe(0);
  expect(await processesOf(testEnvironment.control).find().toArray()).toEqual([]);
});

test('a database that the user may not see does not count as missing', async () => {
  refuseCommand('listDatabases 1');
  const mongo = createMongo(url, 'test');
  const search = findReadModel(controlDatabase(mongo, testEnvironment.config.DATABASE_NAME));
  await expect(search).rejects.toThrow('not authorized');
  await mongo.close();
});

test('the check names a wrong name of the replica set', async () => {
  const { variables } = testEnvironment;
  const mongodbUrl = new URL(testEnvironment.config.MONGODB_URL);
  mongodbUrl.searchParams.set('replicaSet', 'other');
  const { errors, text } = await runCli({ ...variables, MONGODB_URL: mongodbUrl.href }, ['check', 'api']);
  expect(`${errors}${text}`).toMatch(
    /FAILED .*No server .* is a member of a replica set other: check replicaSet/,
  );
});
