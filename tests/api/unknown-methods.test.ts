import { connect, type ClientHttp2Session } from 'node:http2';
import { requestTracesOf } from '../../shared/store/request-traces.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import { tokens } from './test-api.ts';
import { host, metricsOf } from './raw-socket.ts';

const children = useApiProcesses();
let child: ApiProcess;
let session: ClientHttp2Session;

beforeAll(async () => {
  child = await children.startServing();
  session = connect(`https://${host}:${child.port}`, { rejectUnauthorized: false });
}, 120_000);

afterAll(() => session.destroy());

const ask = (method: string, headers: Record<string, string>) =>
  new Promise<string>((resolve, reject) => {
    const stream = session.request({ ':method': method, ':path': '/v1/tickets', ...headers });
    stream.on('response', (received) => resolve(String(received['request-id']))).on('error', reject);
    stream.resume();
  });

/** HTTP/2 takes any token as a method, so each label, log field and trace field has a fixed set of values. */
it.each([
  ['with a key', { authorization: `Bearer ${tokens.a}` }],
  ['without one', {}],
])(
  'unknown methods %s are counted, logged and traced as one',
  async (_, headers) => {
    const methods = Array.from({ length: 100 }, (__, index) => `LOVELACE${index}`);
    const ids = await Promise.all(methods.map((method) => ask(method, headers)));
    const lines = () => child.log.filter(({ requestId }) => ids.includes(String(requestId)));
    await eventually(async () => lines().length === ids.length);
    expect(new Set(lines().map(({ method }) => method))).toEqual(new Set(['other']));

    const metrics = await metricsOf(child);
    expect(metrics).not.toContain('LOVELACE');
    expect(metrics).toMatch(
      /api_request_duration_seconds_count\{method="other",route="[^"]+",status="40[15]"\} /,
    );

    const traces = requestTracesOf(children.store.control);
    await eventually(async () => (await traces.countDocuments({ _id: { $in: ids } })) === ids.length);
    expect(await traces.distinct('method', { _id: { $in: ids } })).toEqual(['other']);
  },
  30_000,
);
