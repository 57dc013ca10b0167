import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

const steps = (...commands: string[]) => ['infra/steps.sh', ...commands];

test('steps run one after another, up to the first that fails', () => {
  const failing = spawnSync('sh', steps('echo one', 'sh -c "exit 3"', 'echo two'), { encoding: 'utf8' });
  expect({ stdout: failing.stdout, status: failing.status }).toEqual({ stdout: 'one\n', status: 3 });
  expect(spawnSync('sh', steps('true', 'true')).status).toBe(0);
});

test('SIGTERM ends the running step, and no other step begins', async () => {
  const command = steps('sh -c "echo $$; exec sleep 1000"', 'echo two');
  const script = spawn('sh', command, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  let errors = '';
  script.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  script.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(script.stdout, 'data');
  script.kill('SIGTERM');
  expect(await once(script, 'close')).toEqual([143, null]);
  expect(output).toMatch(/^\d+\n$/);
  expect(errors).toBe('');
  expect(() => process.kill(-(script.pid ?? 0), 0)).toThrow('ESRCH');
});

type Manifest = { scripts: Record<string, string> };
const manifests = ['package.json', 'clients/typescript/package.json'];

// A shell that waits for a process does not pass a signal on.
test.each(manifests)('the last process of each script of %s replaces the shell', (path) => {
  const { scripts } = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  const guard = 'node shared/runtime/require-node.mjs && ';
  for (const [name, script] of Object.entries(scripts)) {
    const guarded = script.replace(guard, '');
    expect(`${name}: ${guarded}`).toMatch(/^\S+: ([A-Z_]+=\S+ )*exec /);
    expect(`${name}: ${guarded}`).not.toMatch(/[^.]&&|;/);
  }
});
