import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, createReadStream, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const folder = mkdtempSync(join(tmpdir(), 'log-output-'));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A pipe with a name. The test is its reader, and reads nothing until it wants to. */
function makePipe() {
  const path = join(folder, `pipe-${children.length}`);
  execFileSync('mkfifo', [path]);
  return { path, reader: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) };
}

const imports = `
  import { createLogger } from '${join(__dirname, 'logger.ts')}';
  import { createLogOutput } from '${join(__dirname, 'log-output.ts')}';
`;

/** Runs a script whose stdout is the file of this path. */
function run(script: string, path: string): ChildProcess {
  const stdout = openSync(path, 'w');
  const child = spawn(process.execPath, ['--input-type=module', '-e', imports + script], {
    stdio: ['ignore', stdout, 'inherit', 'ipc'],
  });
  closeSync(stdout);
  children.push(child);
  return child;
}

/** Logs `count` lines of 1 KB and says so. Logs more lines from SIGUSR2 on, and exits with 3 at SIGTERM. */
const logMany = (count: number) => `
  const output = createLogOutput({ batchBytes: 4_096 });
  const logger = createLogger('test', 'info', output);
  process.on('SIGTERM', () => process.exit(3));
  process.on('SIGUSR2', () => setInterval(() => logger.info('later'), 10));
  setInterval(() => undefined, 1_000);
  for (let index = 0; index < ${count}; index += 1) logger.info({ index, filler: '-'.repeat(900) }, 'line');
  process.send(output.linesLost());`;

async function codeOf(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, 'exit')) as [number];
  return code;
}

test('lines that wait are written when the process exits', async () => {
  const path = join(folder, 'file');
  const script = `
    createLogger('test', 'info', createLogOutput({ batchBytes: 4_096 })).info('last words');
    process.exit(3);`;
  expect(await codeOf(run(script, path))).toBe(3);
  expect(readFileSync(path, 'utf8')).toContain('last words');
});

test('one line reports to a reader that stopped and reads again how many lines were lost', async () => {
  const { path } = makePipe();
  const count = 10_000;
  const child = run(logMany(count), path);
  const [lost] = (await once(child, 'message')) as [number];
  expect(lost).toBeGreaterThan(count / 2);
  const indexes: number[] = [];
  const reports: object[] = [];
  let laterLines = 0;
  for await (const text of createInterface({ input: createReadStream(path) })) {
    const line = JSON.parse(text) as { msg: string; index: number };
    if (line.msg === 'line') {
      indexes.push(line.index);
    } else if (line.msg === 'later') {
      laterLines += 1;
      // A second report would come before these lines.
      if (laterLines === 5) child.kill();
    } else {
      reports.push(line);
      child.kill('SIGUSR2');
    }
  }
  expect(reports).toMatchObject([{ level: 'warn', service: 'test', lines: lost }]);
  expect(indexes).toEqual(Array.from({ length: count - lost }, (_, index) => index));
});

test.each(['stalled', 'gone', 'full'])(
  'a process whose stdout is %s goes on, and ends with its exit code',
  async (kind) => {
    const pipe = kind === 'full' ? { path: '/dev/full', reader: null } : makePipe();
    const child = run(logMany(10_000), pipe.path);
    if (kind === 'gone' && pipe.reader !== null) closeSync(pipe.reader);
    await once(child, 'message');
    child.kill();
    expect(await codeOf(child)).toBe(3);
  },
);
