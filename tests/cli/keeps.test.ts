import { ensureRegistry, generationsOf } from '../../shared/control/generations.ts';
import { runCli } from '../support/run-cli.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const testEnvironment = useOpened(() => createTestEnvironment());

const keeps = async (changes: Record<string, string>, ...generations: number[]) => {
  const environment = { ...testEnvironment.environment, LOG_LEVEL: 'silent', ...changes };
  const { code, text } = await runCli(environment, ['rebuild', 'keeps', ...generations.map(String)]);
  return [code, text];
};

test('rebuild keeps fails only if it knows the active generation, and that generation would lose its projectors', async () => {
  expect(await keeps({}, 1)).toEqual([0, expect.stringMatching(/^no generation of \S+ is active yet$/)]);
  await ensureRegistry(testEnvironment.control);
  await generationsOf(testEnvironment.control).updateOne({ _id: 'active' }, { $set: { generation: 2 } });
  expect(await keeps({}, 1, 2)).toEqual([0, 'generation 2 is active, and keeps its projectors']);
  const refused = [
    1,
    [
      'generation 2 is active, and would have no projectors: Data-As-Of would stand still',
      'give it an entry with replicas in `generations`, or set upgradeCheck.enabled=false if it is to pause',
      'after `helm rollback`: roll back to the revision that `helm history` shows as deployed, before the next upgrade',
    ].join('\n'),
  ];
  expect(await keeps({}, 1, 3)).toEqual(refused);
  // and also if the deployment pauses all of its projectors
  expect(await keeps({})).toEqual(refused);
  const away = { MONGODB_URL: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=500' };
  expect(await keeps(away, 1, 3)).toEqual([0, expect.stringMatching(/^the active generation is unknown: /)]);
  // and passes in a pod whose Secret only the upgrade creates
  expect(await keeps({ MONGODB_URL: '' }, 1, 3)).toEqual([
    0,
    'the active generation is unknown: MONGODB_URL is not set',
  ]);
});
