import { ensureRegistry, generationsOf } from '../../shared/control/generations.ts';
import { matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());

const keeps = async (changes: Record<string, string>, ...generations: number[]) => {
  const environment = { ...testEnvironment.variables, LOG_LEVEL: 'silent', ...changes };
  return runCli(environment, ['rebuild', 'keeps', ...generations.map(String)]);
};

const activateGeneration2 = async () => {
  await ensureRegistry(testEnvironment.control);
  await generationsOf(testEnvironment.control).updateOne({ _id: 'active' }, { $set: { generation: 2 } });
};

test('rebuild keeps succeeds before a generation is active', async () => {
  const text = matching(/^no generation of \S+ is active yet$/);
  expect(await keeps({}, 1)).toMatchObject({ code: 0, text });
});

test('rebuild keeps succeeds if the active generation keeps its projectors', async () => {
  await activateGeneration2();
  const text = 'generation 2 is active, and keeps its projectors';
  expect(await keeps({}, 1, 2)).toMatchObject({ code: 0, text });
});

test.each([
  { name: 'the deployment names only other generations', generations: [1, 3] },
  { name: 'the deployment names no generation', generations: [] },
])('rebuild keeps fails if $name', async ({ generations }) => {
  await activateGeneration2();
  const { code, text } = await keeps({}, ...generations);
  expect(code).toBe(1);
  expect(text.split('\n')).toEqual([
    'generation 2 is active, and would have no projectors: Data-As-Of would stand still',
    'give it an entry with replicas in `generations`, or set upgradeCheck.enabled=false if it is to pause',
    'after `helm rollback`: roll back to the revision that `helm history` shows as deployed, before the next upgrade',
  ]);
});

test('rebuild keeps succeeds if MongoDB does not answer', async () => {
  const unavailable = { MONGODB_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500' };
  const text = matching(/^the active generation is unknown: /);
  expect(await keeps(unavailable, 1, 3)).toMatchObject({ code: 0, text });
});

test('rebuild keeps succeeds in a pod whose Secret does not exist before the upgrade', async () => {
  const text = 'the active generation is unknown: MONGODB_URL is not set';
  expect(await keeps({ MONGODB_URL: '' }, 1, 3)).toMatchObject({ code: 0, text });
});
