import { createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { type Service, startService } from '../../infra/service.ts';
import { specFor } from '../../services/api/openapi/write.ts';
import type { Counts } from '../../services/operations/counts.ts';
import type { Report } from '../../services/operations/report.ts';
import { kinds } from '../../shared/documents/resources.ts';
import { listen } from '../../shared/runtime/listen.ts';
import { apiKey, apiSettings, get as request } from '../support/api-process.ts';
import { createAssertDocumented } from '../support/documented.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { fatalError } from '../support/fatal-error.ts';
import { containing } from '../support/matchers.ts';
import { useProjector } from '../support/use-projector.ts';

const assertDocumented = createAssertDocumented(specFor());

describe('from Kafka to the client, with the services as processes', () => {
  const { environment, publish, applied, cli, startProcess } = useProjector({ partitions: 3, projectors: 0 });
  let projector: Service;
  let api: Service;

  beforeAll(async () => {
    projector = startProcess();
    api = startService('api', apiSettings(environment.variables));
    await projector.logged('projecting');
    // The API answers 503 until it has seen the generation that the projector has just made.
    await api.logged('ready');
  });
  afterAll(() => api.stop());

  const get = async (path: string) => {
    const response = await request(api, path);
    const text = await response.text();
    const { status } = response;
    assertDocumented({ method: 'GET', path, status, headers: response.headers, text });
    return { status, headers: response.headers, body: JSON.parse(text) as unknown };
  };

  test('the API returns the published data although children arrived before their parents', async () => {
    await publish(
      apiKey,
      created('message', 'msg_1', { content: 'It does not start' }),
      created('conversation', 'conv_1'),
      created('ticket', 'ti_1', { tagIds: ['tag_1', 'tag_missing'] }),
      created('tag', 'tag_1'),
      created('contact', 'con_1'),
      created('channel', 'chan_1'),
    );
    await applied();
    const list = await get('/v1/tickets?status=open&limit=1');
    const requester = { id: 'con_1', name: 'Ada' };
    const ticket = { id: 'ti_1', requester, tags: [{ id: 'tag_1' }], conversations: [{ id: 'conv_1' }] };
    expect(list.body).toMatchObject({ hasMore: false, nextCursor: null, data: [ticket] });
    const conversation = await get('/v1/conversations/conv_1');
    expect(conversation.body).toMatchObject({
      channel: { id: 'chan_1', name: 'Support' },
      contact: { id: 'ct_1', name: 'Ada' },
      lastMessagePreview: 'It does not start',
      messages: [{ id: 'msg_1', content: 'It does not start' }],
    });
    expect(list.headers.get('request-id')).toMatch(/^req_[0-9A-Z]{26}$/);
  });

  test('cli status prints positions, documents and pending documents', async () => {
    await publish(created('conversation', 'conv_2', { channelId: 'chan_missing', ticketId: 'ti_missing' }));
    await applied();
    const documents = { tickets: 1, conversations: 2, messages: 1, channels: 1, apiKeys: 1 };
    let status = {} as Report & Counts;
    // The counts of documents are MongoDB's estimates, which may lag. A status leaves out answers that come too late.
    await eventually(async () => {
      status = JSON.parse((await cli('status', '--json')).text) as Report & Counts;
      const isLate = status.generations[0]?.partitions.some(({ lag }) => lag === null);
      return !isLate && isDeepStrictEqual({ ...status.documents, ...documents }, status.documents);
    });
    expect(status.pending).toEqual({ conversations: 1 });
    const [generation] = status.generations;
    expect(generation?.partitions).toHaveLength(3 * kinds.length);
    expect(generation?.partitions.every(({ lag, position, end }) => lag === 0 && position === end)).toBe(
      true,
    );
    expect(status.deadLetters).toBe(0);
  });
});

describe('a bad configuration', () => {
  test.each([
    [
      'projector',
      {
        MONGODB_URL: 'http://x',
        LOG_LEVEL: 'loud',
        DEAD_LETTER_MEGABYTES_MAX: '0',
        KAFKA_SESSION_TIMEOUT_MS: '1500.5',
        TOMBSTONE_DAYS: '99999999',
        ADMIN_PORT: 'x',
      },
      [
        'KAFKA_BROKERS is not set',
        'MONGODB_URL: must start with mongodb:// or mongodb+srv://',
        'LOG_LEVEL: must be one of trace, debug, info, warn, error, fatal, silent',
        'DEAD_LETTER_MEGABYTES_MAX: must be 1 or more',
        'KAFKA_SESSION_TIMEOUT_MS: must be a whole number',
        'TOMBSTONE_DAYS: must be 36500 or less',
        'ADMIN_PORT: must be a whole number',
      ],
    ],
    [
      'api',
      {
        API_PORT: '70000',
        API_TLS_CERT: '/nowhere',
        API_TRUSTED_PROXIES: '10.0.0.0/8, nonsense',
        RATE_LIMIT_REQUESTS: '-1',
        API_BASE_URL: 'ftp://api',
        BRAND: 'a_b',
        KEY_PREFIX: 'a_b',
        RATE_LIMIT_STORE_URL_FILE: '/nowhere',
      },
      [
        ...['MONGODB_URL is not set', 'API_PORT: must be 65535 or less', 'API_TLS_KEY is not set'],
        ...['API_TRUSTED_PROXIES:', 'RATE_LIMIT_REQUESTS:', 'API_BASE_URL:', 'BRAND:', 'KEY_PREFIX:'],
        'RATE_LIMIT_STORE_URL_FILE:',
      ],
    ],
    [
      'cli',
      { MONGODB_URL: 'mongodb://u:hunter2@h/?w=1' },
      ['KAFKA_BROKERS is not set', 'MONGODB_URL: its option w must be majority'],
    ],
  ] as const)(
    'of the %s ends the program with code 2 and all of its errors',
    async (name, environment, errors) => {
      const service = startService(name, environment, name === 'cli' ? ['status'] : []);
      expect(await service.exited).toBe(2);
      for (const error of errors) expect(service.stderr()).toContain(error);
      expect(service.stderr()).not.toContain('hunter2');
      if (name === 'cli') return;
      expect(JSON.parse(service.stderr())).toMatchObject({
        level: 'fatal',
        service: name,
        msg: 'bad configuration',
        errors: expect.arrayContaining([errors[0]]) as string[],
      });
    },
  );
});

test('each service ends with code 1 and logs the port if a port is in use', async () => {
  const holder = createServer();
  const { port } = await listen(holder, undefined, 0);
  const cases = [
    ['projector', { KAFKA_BROKERS: 'localhost:1', ADMIN_PORT: String(port) }],
    ['api', { API_PORT: String(port) }],
    ['api', { API_PORT: '0', ADMIN_PORT: String(port) }],
  ] as const;
  try {
    for (const [name, environment] of cases) {
      const service = startService(name, { MONGODB_URL: 'mongodb://localhost:1', ...environment });
      expect(await service.exited).toBe(1);
      // The fatal line need not be the last one, because other work of the process may log after it.
      expect(fatalError(service)).toMatchObject({ code: 'EADDRINUSE', message: containing(String(port)) });
      expect(service.stderr()).toBe('');
    }
  } finally {
    holder.close();
  }
});
