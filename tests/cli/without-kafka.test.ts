import { ensureRegistry } from '../../shared/control/generations.ts';
import { openDatabases } from '../support/databases.ts';
import { runCli } from '../support/run-cli.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

test('the history of generations is printed while no broker answers, and without KAFKA_BROKERS', async () => {
  const { control, name } = opened;
  await ensureRegistry(control);
  const environment = { MONGODB_URL: process.env.MONGODB_URL, DATABASE_NAME: name, LOG_LEVEL: 'silent' };
  for (const brokers of [{ KAFKA_BROKERS: '127.0.0.1:1' }, {}]) {
    const { code, text } = await runCli({ ...environment, ...brokers }, ['rebuild', 'history']);
    expect({ code, text }).toEqual({
      code: 0,
      text: expect.stringContaining('the first generation') as unknown,
    });
  }
});
