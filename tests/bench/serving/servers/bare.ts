import { createServer } from 'node:http';
import { announce, readConversation, readMessages, readTicket, readTickets } from './read.ts';

/** The minimal server: Node's HTTP server and the driver. It checks no keys or parameters, and writes no log. */
const answer = (path: string): Promise<unknown> => {
  const [, , list, id = '', messages] = path.split('/');
  if (list === 'tickets') return id ? readTicket(id) : readTickets();
  return messages ? readMessages(id) : readConversation(id);
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
server.listen(0, '127.0.0.1', () => announce(server.address()));
