import { waitingRequestsMax } from '../../services/api/server/connections.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { peakMegabytes, residentBytes } from '../support/memory.ts';
import { useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { expectAnswering, metricOf, open, requestText } from './raw-socket.ts';

/** The most memory that the API may take here. Idle it takes 150 MB; V8 leaves up to 550 MB of garbage. */
const residentMegabytesMax = 700;

const apis = useApiProcesses({
  ticket: Array.from({ length: 100 }, (_, index) => build.ticket({ id: `ti_${index}` })),
});

/** Many requests on one connection. No request asks the API to close the connection, so it stays open. */
const pipelined = (path: string, count: number) =>
  requestText(path).replace('Connection: close\r\n', '').repeat(count);

test.each([
  ['/health', 200_000],
  ['/openapi.json', 20_000],
  ['/v1/tickets?limit=100', 20_000],
])(
  'a client that pipelines %s endlessly is disconnected without a delay for other clients',
  async (path, count) => {
    const api = await apis.startServing();
    const refused = await metricOf(api, 'api_connections_refused_total');
    const socket = await open(api);
    // The API resets this connection, which is an error of the socket.
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(pipelined(path, count));
    // The API must answer the other clients until it has disconnected this one.
    await eventually(async () => {
      await expectAnswering(api);
      const current = await metricOf(api, 'api_connections_refused_total');
      return current === refused + 1 || notYet(current);
    });
    socket.destroy();
    process.stdout.write(`${Math.round(peakMegabytes(api))} MB resident at most\n`);
    expect(peakMegabytes(api)).toBeLessThan(residentMegabytesMax);
    await api.stop();
  },
);

test('a client that pipelines the most allowed requests and reads nothing costs less than 150 kB', async () => {
  const api = await apis.startServing();
  const connections = 400;
  const openUnread = async () => {
    const socket = await open(api);
    socket.pause();
    socket.write(pipelined('/openapi.json', waitingRequestsMax + 1));
    await new Promise((resolve) => socket.once('readable', resolve));
    return socket;
  };
  // The first connection warms up the API, and is not measured.
  (await openUnread()).destroy();
  const before = residentBytes(api);
  const sockets = [];
  for (let count = 0; count < connections; count += 1) sockets.push(await openUnread());
  await expectAnswering(api);
  const bytesPerConnection = (residentBytes(api) - before) / connections;
  process.stdout.write(`${Math.round(bytesPerConnection / 1_000)} kB for each connection\n`);
  expect(bytesPerConnection).toBeLessThan(150_000);
  expect(sockets.filter(({ destroyed }) => destroyed)).toEqual([]);
  for (const socket of sockets) socket.destroy();
  await api.stop();
});
