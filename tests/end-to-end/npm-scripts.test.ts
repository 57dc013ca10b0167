import { once } from 'node:events';
import { startCommand } from '../../infra/service.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { descendantsOf, isRunning } from '../support/processes.ts';

/** Settings that lead to no server: no process listens on the discard port. */
const unavailable = {
  MONGODB_URL: 'mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200',
  KAFKA_BROKERS: '127.0.0.1:9',
};

test.each([
  ['projector', 'waiting: MongoDB is unavailable', {}],
  ['api', 'listening', { API_HOST: '127.0.0.1', API_PORT: '0' }],
  ['console', 'listening', { CONSOLE_PORT: '0' }],
])('SIGTERM to `npm run %s` stops the service', async (name, startMessage, settings) => {
  const script = startCommand(['npm', 'run', '--silent', name], { ...unavailable, ...settings }, name, {
    ownGroup: true,
  });
  await script.logged(startMessage);
  const ended = once(script.child, 'exit');
  const processes = descendantsOf(script.pid);
  script.child.kill('SIGTERM');
  // then the script ends with the exit code of the service, and leaves no process
  expect({ exit: await ended, running: processes.filter(isRunning) }).toEqual({
    exit: [0, null],
    running: [],
  });
});

/** The scripts below use the servers of the tests. */
const { KAFKA_BROKERS, MONGODB_URL, HOME } = process.env;

// demo.long.test.ts tests `npm start`. Every other script is one process, which infra/steps.test.ts checks.
test.each([
  ['check', [], /bin\/tsc/],
  ['lint', [], /bin\/eslint/],
  ['test', ['tests/store'], /bin\/jest/],
  ['test:long', ['tests/store'], /bin\/jest/],
  ['bench', ['projecting', '--quick'], /bulk-write|services\/projector/],
])(
  'SIGTERM to `npm run %s` ends every process that the script has started',
  async (name, args, startedProgram) => {
    const command = ['npm', 'run', '--silent', name, '--', ...args];
    const script = startCommand(command, { KAFKA_BROKERS, MONGODB_URL, HOME }, name, { ownGroup: true });
    await eventually(
      () => descendantsOf(script.pid).some(({ command: program }) => startedProgram.test(program)),
      script.failures,
    );
    const processes = descendantsOf(script.pid);
    script.child.kill('SIGTERM');
    await script.exited;
    await eventually(() => !processes.some(isRunning) || notYet(processes.filter(isRunning)));
  },
);
