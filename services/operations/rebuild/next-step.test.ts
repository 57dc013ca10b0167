import type { Check } from './checks.ts';
import { nextStep } from './next-step.ts';

type Progress = Parameters<typeof nextStep>[1];
const build: Progress = {
  number: 2,
  stopped: null,
  savedAt: new Date(),
  rejectCount: 0,
  state: 'ready',
  condition: 'ready',
};
const check = (name: string, isMet: boolean): Check => ({ name, isMet, detail: `${name} detail` });
const all = ['state', 'offsets', 'compared'].map((name) => check(name, true));
const commands = { cli: 'cli', projector: (number: number) => `projector ${number}` };

test.each<[string, Progress, Check[] | null, string]>([
  ['a build without a projector', { ...build, savedAt: null }, null, 'projector 2'],
  ['a build that loads', { ...build, state: 'building' }, null, 'cli rebuild await 2'],
  [
    'a build that was not compared',
    build,
    [...all.slice(0, 2), check('compared', false)],
    'cli rebuild compare 2',
  ],
  ['a build with another failed check', build, [check('offsets', false)], 'cli rebuild promote 2 --dry-run'],
  ['a build with unknown checks', build, null, 'cli rebuild promote 2 --dry-run'],
  ['a build whose checks hold', build, all, 'cli rebuild promote 2'],
  ['a build with dead letters of its own', { ...build, condition: 'failing' }, null, 'cli dead-letters list'],
  ['a standby', { ...build, state: 'standby' }, all, 'cli rebuild rollback 2'],
  ['a drop that was interrupted', { ...build, state: 'dropping' }, null, 'cli rebuild drop 2'],
  ['a stopped projector', { ...build, stopped: { reason: '', isFinal: false } }, null, 'projector 2'],
  [
    'a build that cannot continue',
    { ...build, stopped: { reason: '', isFinal: true } },
    null,
    'cli rebuild drop 2',
  ],
  [
    'an active generation that cannot continue',
    { ...build, state: 'active', stopped: { reason: '', isFinal: true } },
    null,
    'cli rebuild start',
  ],
])('the next command for %s', (_, generation, checks, command) => {
  expect(nextStep(commands, generation, checks, null)?.command).toBe(command);
});

test('there is no next command for an active generation that is followed', () => {
  expect(nextStep(commands, { ...build, state: 'active' }, null, null)).toBeNull();
});

test('a build in progress replaces an active generation that cannot continue: another start would be refused', () => {
  const active: Progress = { ...build, number: 1, state: 'active', stopped: { reason: '', isFinal: true } };
  expect(nextStep(commands, active, null, 2)?.command).toBe('cli rebuild await 2');
});
