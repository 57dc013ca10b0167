import { once } from 'node:events';
import { startCommand } from '../../infra/service.ts';

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
  script.child.kill('SIGTERM');
  // then it ends with the exit code of the service, and leaves no process
  const outcome = await ended;
  const left = await isRunning(script.pid);
  if (left) process.kill(-script.pid, 'SIGKILL');
  expect([outcome, left]).toEqual([[0, null], false]);
});

/** Whether a process of this group still runs. */
async function isRunning(group: number): Promise<boolean> {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}
