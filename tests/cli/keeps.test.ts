import { ensureRegistry, generationsOf } from '../../shared/control/generations.ts';
import { matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());

const keeps = async (changes: Record<string, string>, ...generations: number[]) => {
  const environment = { ...testEnvironment.variables, LOG_LEVEL: 'silent', ...changes };
  const { code, text } = await runCli(environment, ['rebuild', 'keeps', ...generations.map(String)]);
  return [code, text];
};

const activateGeneration2 = async () => {
  await ensureRegistry(testEnvironment.control);
  await generationsOf(testEnvironment.control).updateOne({ _id: 'active' }, { $set: { generation: 2 } });
};

test('rebuild keeps succeeds before a generation is active', async () => {
  expect(await keeps({}, 1)).toEqual([0, matching(/^no generation of \S+ is active yet$/)]);
});

test('rebuild keeps succeeds if the active generation keeps its projectors', async () => {
  await activateGeneration2();
  expect(await keeps({}, 1, 2)).toEqual([0, 'generation 2 is active, and keeps its projectors']);
});

test.each([
  ['the deployment names only other generations', [1, 3]],
  ['the deployment names no generation', []],
])('rebuild keeps fails if %s', async (_, generations) => {
  await activateGeneration2();
  expect(await keeps({}, ...generations)).toEqual([
    1,
    [
      'generation 2 is active, and would have no projectors: Data-As-Of would stand still',
      'give it an entry with replicas in `generations`, or set upgradeCheck.enabled=false if it is to pause',
      'after `helm rollback`: roll back to the revision that `helm history` shows as deployed, before the next upgrade',
    ].join('\n'),
  ]);
});

test('rebuild keeps succeeds if MongoDB does not answer', async () => {
  const unavailable = { MONGODB_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500' };
  expect(await keeps(unavailable, 1, 3)).toEqual([0, matching(/^the active generation is unknown: /)]);
});

test('rebuild keeps succeeds in a pod whose Secret does not exist before the upgrade', async () => {
  expect(await keeps({ MONGODB_URL: '' }, 1, 3)).toEqual([
    0,
    'the active generation is unknown: MONGODB_URL is not set',
  ]);
});
