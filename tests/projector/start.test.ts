import { type Service } from '../../infra/service.ts';
import { resources } from '../../shared/documents/resources.ts';
import { fatalError } from '../support/fatal-error.ts';
import { useProjector } from '../support/use-projector.ts';

const closedPort = 1;

describe('a projector at its start', () => {
  const { environment, startProcess: start } = useProjector({ projectors: 0 });

  /** The reason why its start was refused. Any other end shows the type of its error. */
  const refusal = (service: Service) => {
    const error = fatalError(service);
    return error?.type === 'StartRefused' ? error.message : error?.type;
  };

  test('exits with a fix if an existing index conflicts with a declared index', async () => {
    // The index has the name of a declared index but another field.
    const { name } = resources.ticket.indexes[0] ?? {};
    if (!name) throw new Error('tickets declare no index');
    await environment.database.collection('tickets').createIndex({ other: 1 }, { name });
    const service = start();
    expect(await service.exited).toBe(1);
    expect(refusal(service)).toMatch(
      new RegExp(
        `indexes of ${environment.name}_g1\\.tickets \\(.*${name}.*: .*rebuild the read model into a new one`,
      ),
    );
    await environment.database.collection('tickets').dropIndex(name);
    await start().logged('projecting');
  });

  test('exits if MongoDB rejects its password', async () => {
    const service = start({
      MONGODB_URL: environment.config.MONGODB_URL.replace(/\/\/([^/@]*@)?/, '//reader:wrong@'),
    });
    expect(await service.exited).toBe(1);
    expect(refusal(service)).toMatch(/Authentication failed.*MONGODB_URL/);
  });

  test('exits if the brokers do not support its SASL mechanism', async () => {
    const sasl = { KAFKA_SASL_MECHANISM: 'plain', KAFKA_SASL_USERNAME: 'reader', KAFKA_SASL_PASSWORD: 'no' };
    const service = start(sasl);
    expect(await service.exited).toBe(1);
    expect(refusal(service)).toMatch(/SASL state.*KAFKA_SASL_MECHANISM/);
  });

  test.each([
    ['MongoDB is unavailable', { MONGODB_URL: `mongodb://127.0.0.1:${closedPort}/` }],
    ['MongoDB is unavailable', { MONGODB_URL: 'mongodb+srv://store.invalid/' }],
    ['the brokers are unavailable', { KAFKA_BROKERS: `127.0.0.1:${closedPort}` }],
    ['topics are missing; create them with: support-cli topics create', { TOPIC_PREFIX: 'absent.' }],
  ])('logs that it waits while %s', async (condition, changed) => {
    const service = start({ ...changed, ADMIN_PORT: '0' });
    const { port } = await service.logged('admin server listening');
    expect(await service.logged(`waiting: ${condition}`)).toHaveProperty('reason');
    const probe = await fetch(`http://127.0.0.1:${Number(port)}/readyz`);
    expect({ status: probe.status, text: await probe.text() }).toEqual({
      status: 503,
      text: `waiting: ${condition}\n`,
    });
    expect(service.child.exitCode).toBeNull();
  });
});
