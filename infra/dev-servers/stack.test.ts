import { createServer } from 'node:net';
import { listen } from '../../shared/runtime/listen.ts';
import { useFolder } from '../../tests/support/use-opened.ts';
import { startStack } from './stack.ts';

const options = { dataDir: '.', report: () => undefined };
/** The discard port refuses connections. */
const nowhere = '127.0.0.1:9';

const before = process.env;
afterEach(() => {
  process.env = before;
});
const inEnvironment = (environment: Record<string, string>) => {
  process.env = { ...before, ...environment };
  return startStack({ ...options, providers: ['environment'] });
};

describe('addresses in the environment', () => {
  const folder = useFolder({ each: true });
  test('of a server that does not answer are an error that names the variable', async () => {
    await using kafka = createServer();
    const { port } = await listen(kafka, '127.0.0.1', 0);
    await expect(inEnvironment({ KAFKA_BROKERS: nowhere, MONGODB_URL: '' })).rejects.toThrow(
      `KAFKA_BROKERS: no broker answers at ${nowhere}`,
    );
    await expect(
      inEnvironment({
        KAFKA_BROKERS: `127.0.0.1:${port}`,
        MONGODB_URL: `mongodb://${nowhere}/?serverSelectionTimeoutMS=3000`,
      }),
    ).rejects.toThrow(/^MongoDB \(MONGODB_URL\) cannot be reached: .*ECONNREFUSED/);
  });

  test('that are missing or empty leave the choice to the next provider', async () => {
    await expect(inEnvironment({ KAFKA_BROKERS: '', MONGODB_URL: '' })).rejects.toThrow(
      'No provider of Kafka and MongoDB is available',
    );
  });

  test.each([
    ['KAFKA_BROKERS', { kafka: 'environment', store: 'native' }],
    ['MONGODB_URL', { kafka: 'native', store: 'environment' }],
  ])('with only %s start the other server', async (setting, how) => {
    process.env = { ...before, KAFKA_BROKERS: '', MONGODB_URL: '', [setting]: before[setting] };
    const stack = await startStack({
      ...options,
      dataDir: folder.path,
      providers: ['environment', 'native'],
    });
    try {
      expect(stack.how).toEqual(how);
      expect(stack.store).toMatch(/^(MongoDB|FerretDB) \d/);
    } finally {
      await stack.stop();
    }
  });
});

test('DEV_STORE names a store that can be started', async () => {
  process.env = { ...before, MONGODB_URL: '', DEV_STORE: 'mongo' };
  await expect(startStack(options)).rejects.toThrow('DEV_STORE: must be mongod or stand-in');
});
