import { ensureRegistry, generationsOf } from '../../shared/control/generations.ts';
import { watermarksOf } from '../../shared/control/progress.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { eventually, succeeds } from '../support/eventually.ts';
import { containing } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());
beforeAll(async () => {
  const { admin, config, control, database, topics } = testEnvironment;
  await ensureRegistry(control);
  await ensureIndexes(database);
  await watermarksOf(control).insertOne({ _id: 1, completeTo: new Date(0) });
  // Kafka creates the coordinator of groups at the first request for it, which may take longer than a check waits.
  const groupId = config.CONSUMER_GROUP;
  await eventually(() => succeeds(admin.fetchOffsets({ groupId, topics })));
});

const check = (changes: Record<string, string>, role: string) =>
  runCli({ ...testEnvironment.variables, LOG_LEVEL: 'silent', ...changes }, ['check', role]);

test.each(['projector', 'api', 'cli'])(
  'every line of the check of the role %s is ok with the correct settings',
  async (role) => {
    const { code, text } = await check({}, role);
    expect(text).not.toContain('FAILED');
    expect(code).toBe(0);
  },
);

test('the check of a projector joins the group of GENERATION or of the active generation', async () => {
  const registry = generationsOf(testEnvironment.control);
  const before = await registry.findOne({ _id: 'active' });
  const [registered] = before?.generations ?? [];
  if (!before || !registered) throw new Error('no generation is registered');
  const builds = [2, 3].map((number) => ({ ...registered, number, state: 'building' as const }));
  const generations = [registered, ...builds];
  await registry.updateOne({ _id: 'active' }, { $set: { generation: 2, generations } });
  const ofThird = await check({ GENERATION: '3' }, 'projector');
  const ofActive = await check({}, 'projector');
  await registry.replaceOne({ _id: 'active' }, before);
  const { CONSUMER_GROUP: group } = testEnvironment.config;
  expect(ofThird.text).toContain(`may join ${group}_g3,`);
  expect(ofActive.text).toContain(`may join ${group}_g2,`);
});

test.each([
  { setting: 'KAFKA_BROKERS', changes: { KAFKA_BROKERS: '127.0.0.1:1' }, role: 'projector' },
  {
    setting: 'KAFKA_SASL_MECHANISM',
    changes: { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'a', KAFKA_SASL_PASSWORD: 'b' },
    role: 'cli',
  },
  { setting: 'TOPIC_PREFIX', changes: { TOPIC_PREFIX: 'absent.' }, role: 'projector' },
  {
    setting: 'MONGODB_URL',
    changes: { MONGODB_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500' },
    role: 'api',
  },
  { setting: 'DATABASE_NAME', changes: { DATABASE_NAME: 'absent' }, role: 'api' },
  { setting: 'RATE_LIMIT_STORE_URL', changes: { RATE_LIMIT_STORE_URL: 'redis://127.0.0.1:1' }, role: 'api' },
])('the check names $setting if that setting is wrong', async ({ setting, changes, role }) => {
  const { code, text } = await check(changes, role);
  const failed = text.split('\n').filter((line) => line.startsWith('FAILED'));
  expect(failed.join('\n')).toContain(setting);
  expect(code).toBe(1);
});

test('`dead-letters list` names a wrong DATABASE_NAME', async () => {
  const environment = { ...testEnvironment.variables, DATABASE_NAME: 'absent' };
  const { code, errors } = await runCli(environment, ['dead-letters', 'list']);
  expect({ code, errors }).toEqual({ code: 1, errors: containing('check DATABASE_NAME') });
});
