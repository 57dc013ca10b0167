import { once } from 'node:events';
import { startCommand } from '../../infra/service.ts';
import { eventually } from '../support/eventually.ts';
import { descendantsOf, isRunning } from '../support/processes.ts';

/** The discard port refuses connections. */
const unavailable = {
  MONGODB_URL: 'mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200',
  KAFKA_BROKERS: '127.0.0.1:9',
};

test.each([
  ['projector', 'waiting: MongoDB is unavailable', {}],
  ['api', 'listening', { API_HOST: '127.0.0.1', API_PORT: '0' }],
  ['console', 'listening', { CONSOLE_PORT: '0' }],
])('SIGTERM to `npm run %s` reaches the service, which stops', async (name, started, settings) => {
  const script = startCommand(['npm', 'run', '--silent', name], { ...unavailable, ...settings }, name, {
    ownGroup: true,
  });
  await script.logged(started);
  const ended = once(script.child, 'exit');
  const processes = descendantsOf(script.pid);
  script.child.kill('SIGTERM');
  // then it ends with the exit code of the service, and leaves no process
  expect({ exit: await ended, running: processes.filter(isRunning) }).toEqual({
    exit: [0, null],
    running: [],
  });
});

/** On the servers of the tests. */
const { KAFKA_BROKERS, MONGODB_URL, HOME } = process.env;

// `npm start` is in demo.long.test.ts. Each other script is one process: infra/steps.test.ts tests that.
test.each([
  ['check', [], /bin\/tsc/],
  ['lint', [], /bin\/eslint/],
  ['test', ['tests/store'], /bin\/jest/],
  ['test:long', ['tests/store'], /bin\/jest/],
  ['bench', ['projecting', '--quick'], /bulk-write|services\/projector/],
])('SIGTERM to `npm run %s` ends everything that it has started', async (name, args, started) => {
  const command = ['npm', 'run', '--silent', name, '--', ...args];
  const script = startCommand(command, { KAFKA_BROKERS, MONGODB_URL, HOME }, name, { ownGroup: true });
  await eventually(() => descendantsOf(script.pid).some((one) => started.test(one.command)), script.failures);
  const processes = descendantsOf(script.pid);
  script.child.kill('SIGTERM');
  await script.exited;
  await eventually(() => processes.every((one) => !isRunning(one)) || processes.filter(isRunning));
});
