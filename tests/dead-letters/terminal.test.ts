import { spawn } from 'node:child_process';
import { dieWithParent } from '../../infra/dev-servers/parent-death.ts';
import { ensureRegistry } from '../../shared/control/generations.ts';
import { ledgerOf } from '../../shared/control/ledger-store.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { created } from '../support/entities.ts';
import { useProjector } from '../support/use-projector.ts';

/** The characters that keys send on a terminal. */
const enter = '\r';
const ctrlC = '\x03';

/** An event that no release accepts. */
const rejected = { ...created('tag', 'tag_1'), data: {} };

describe('dead-letters commands on a terminal', () => {
  const { environment, deadLetters } = useProjector({ projectors: 0 });

  beforeEach(async () => {
    await ensureRegistry(environment.control);
    await ledgerOf(environment.control).deleteMany();
    for (const offset of [1, 2]) await storeDeadLetter(environment, rejected, { offset });
  });

  const count = async () => (await deadLetters()).length;

  /**
   * Runs the command on a terminal of its own, which `script` opens, and presses keys once it asks. Returns its exit
   * code and the screen.
   */
  const onTerminal = (words: string, keys = '') =>
    new Promise<{ code: number | null; screen: string }>((resolve, reject) => {
      const cli = `${process.execPath} services/cli/main.ts dead-letters ${words}`;
      const [file = '', ...args] = [...dieWithParent(), 'script', '-qefc', cli, '/dev/null'];
      const env = { PATH: process.env.PATH, TERM: 'dumb', SHELL: '/bin/sh', ...environment.variables };
      const child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
      let screen = '';
      let asked = false;
      child.stdout.on('data', (chunk: Buffer) => {
        screen += chunk.toString();
        if (asked || !screen.includes('[y/N]')) return;
        asked = true;
        child.stdin.write(keys);
      });
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, screen }));
    });

  test('purge deletes the dead letters after the operator has confirmed their number', async () => {
    const { code, screen } = await onTerminal('purge --all', `Yes${enter}`);
    expect(screen).toContain('Delete 2 dead letters for good? No redrive is possible afterwards. [y/N] ');
    expect(screen).toContain('2 dead letters deleted');
    expect({ code, left: await count() }).toEqual({ code: 0, left: 0 });
  });

  test.each([
    ['nothing', enter],
    ['an answer that only starts with yes', `yesterday${enter}`],
    ['Ctrl-C', ctrlC],
  ])('purge deletes nothing after %s and exits with code 1', async (_, keys) => {
    const { code, screen } = await onTerminal('purge --all', keys);
    expect(screen).toContain('nothing was deleted');
    expect({ code, left: await count() }).toEqual({ code: 1, left: 2 });
  });

  test('redrive prints its progress without a question', async () => {
    const { code, screen } = await onTerminal('redrive --all');
    expect(screen).not.toContain('[y/N]');
    expect(screen).toContain('2 of 2');
    expect({ code, left: await count() }).toEqual({ code: 1, left: 2 });
  });
});
