import { ensureRegistry } from '../../shared/control/generations.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { openDatabases } from '../support/databases.ts';
import { matching } from '../support/matchers.ts';
import { runCli } from '../support/run-cli.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

test.each([
  ['rebuild history', /the first generation/],
  ['verify', /generation 1/],
])('%s needs neither brokers nor KAFKA_BROKERS', async (verb, expected) => {
  const { control, database, name } = opened;
  await ensureRegistry(control);
  await ensureIndexes(database);
  const environment = { MONGODB_URL: process.env.MONGODB_URL, DATABASE_NAME: name, LOG_LEVEL: 'silent' };
  for (const brokers of [{ KAFKA_BROKERS: '127.0.0.1:1' }, {}]) {
    const { code, text } = await runCli({ ...environment, ...brokers }, verb.split(' '));
    expect({ code, text }).toEqual({ code: 0, text: matching(expected) });
  }
});
