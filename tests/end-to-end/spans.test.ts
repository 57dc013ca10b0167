import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../../infra/service.ts';
import { useProjector } from '../support/use-projector.ts';

const token = 'svc_live_spans0123456789abcd';
const apiKey = created('apiKey', 'key_1', { tokenSha256: createHash('sha256').update(token).digest('hex') });
const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
const traceparent = `00-${traceId}-${spanId}-01`;

type Attribute = { key: string; value: Record<string, unknown> };
type Span = { name: string; traceId: string; spanId: string; parentSpanId?: string; attributes: Attribute[] };
type ExportRequest = {
  resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: Span[] }[] }[];
};

describe('with a collector of OpenTelemetry', () => {
  const { environment, publish, applied } = useProjector();
  const spans: (Span & { service: unknown })[] = [];
  const collector = createServer((request, response) => {
    void (json(request) as Promise<ExportRequest>).then(({ resourceSpans }) => {
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue;
        spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  beforeAll(() => collector.listening || once(collector, 'listening'));
  afterAll(() => collector.close());
  const settings = () => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
  const spanNamed = async (wanted: string) => {
    const found = () => spans.find(({ name }) => name === wanted);
    await eventually(() => found() !== undefined);
    return found() as (typeof spans)[number];
  };
  const childrenOf = ({ spanId: parent }: Span) =>
    spans.filter(({ parentSpanId }) => parentSpanId === parent).map(({ name }) => name);

  test('the span of a request continues the trace of a trusted proxy, and log lines name it', async () => {
    await publish(apiKey);
    await applied();
    const api = startService('api', {
      MONGODB_URL: environment.config.MONGODB_URL,
      DATABASE_NAME: environment.name,
      API_HOST: '127.0.0.1',
      API_PORT: '0',
      API_TRUSTED_PROXIES: '127.0.0.0/8',
      ...settings(),
    });
    const { port } = await api.logged('listening');
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-proto': 'https', traceparent };
    await eventually(async () => {
      const response = await fetch(`http://127.0.0.1:${String(port)}/v1/tickets?limit=3`, { headers });
      return response.status === 200;
    });
    const request = await spanNamed('GET /v1/tickets');
    expect(request).toMatchObject({ service: 'support-api', traceId, parentSpanId: spanId });
    expect(childrenOf(request)).toContain('find tickets');
    expect(JSON.stringify(spans)).not.toMatch(/limit=3|svc_live/);
    const line = api.log.find(({ route, status }) => route === '/v1/tickets' && status === 200);
    expect(line).toMatchObject({ trace_id: traceId });
    expect(await api.stop()).toBe(0);
  });
});

test('a service stops while the collector is away, and a log line says that spans are not exported', async () => {
  // The discard port refuses connections.
  const api = startService('api', {
    MONGODB_URL: 'mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200',
    API_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_EXPORTER_OTLP_TIMEOUT: '500',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
  const { port } = await api.logged('listening');
  await fetch(`http://127.0.0.1:${String(port)}/health`);
  await api.logged('spans are not exported');
  expect(await api.stop()).toBe(0);
});
