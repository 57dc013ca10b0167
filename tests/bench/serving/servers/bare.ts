import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { announce, openStore, readConversation, readMessages, readTicket, readTickets } from './read.ts';

/** The minimal server: Node's HTTP server and the driver. It checks no keys or parameters, and writes no log. */
const { client, database } = openStore();
await client.connect();

const answer = (path: string): Promise<unknown> => {
  const [, , list, id = '', messages] = path.split('/');
  if (list === 'tickets') return id ? readTicket(database, id) : readTickets(database);
  return messages ? readMessages(database, id) : readConversation(database, id);
};

const server = createServer((request, response) => {
  void answer(request.url ?? '').then((body) => {
    const text = JSON.stringify(body);
    response.writeHead(body === null ? 404 : 200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});
server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
process.once('SIGTERM', () => process.exit(0));
