import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Html } from '../../shared/pages/html.ts';

/** The parts of a page that change, by the id of their element. */
export type Regions = Record<string, Html>;

/** How often the pages that clients watch are rendered, in milliseconds. */
const intervalMs = 2_000;
/** Further clients get 503; each has a connection. */
const clientsMax = 50;

type Client = { path: string; sent: Map<string, string>; response: ServerResponse };

export type Live = {
  /** Streams a page's regions to a client as server-sent events. Returns false if there are too many clients. */
  join: (path: string, response: ServerResponse) => boolean;
  close: () => Promise<void>;
};

/** Renders each watched page once for all of its clients. Does nothing while no client watches. */
export function createLive(
  render: (path: string) => Promise<Regions>,
  onError: (error: unknown) => void,
): Live {
  const clients = new Set<Client>();
  let running: Promise<void> | null = null;
  let isClosed = false;
  const leave = (client: Client) => {
    clients.delete(client);
    client.response.destroy();
  };
  const run = async () => {
    while (clients.size > 0 && !isClosed) {
      const startMs = performance.now();
      for (const path of new Set([...clients].map((client) => client.path))) {
        const regions = await render(path);
        for (const client of clients) if (client.path === path && !send(client, regions)) leave(client);
      }
      await sleep(Math.max(0, intervalMs - (performance.now() - startMs)), undefined, { ref: false });
    }
  };
  const start = () => {
    running ??= run()
      .catch(onError)
      .finally(() => {
        running = null;
        if (clients.size > 0 && !isClosed) start();
      });
  };
  return {
    join: (path, response) => {
      if (clients.size >= clientsMax || isClosed) return false;
      const client = { path, sent: new Map<string, string>(), response };
      clients.add(client);
      response.once('close', () => clients.delete(client));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 3000\n\n');
      start();
      return true;
    },
    close: async () => {
      isClosed = true;
      for (const client of clients) leave(client);
      await running;
    },
  };
}

/** Sends the regions that have changed. Returns false if the client has not read the last ones: it gets all when it returns. */
function send({ sent, response }: Client, regions: Regions): boolean {
  // One message may be larger than the socket's buffer, so the return value of `write` does not tell.
  if (response.writableNeedDrain) return false;
  const changed = Object.entries(regions).filter(([id, { html }]) => sent.get(id) !== html);
  for (const [id, { html }] of changed) sent.set(id, html);
  const texts = Object.fromEntries(changed.map(([id, { html }]) => [id, html]));
  if (changed.length > 0) response.write(`data: ${JSON.stringify(texts)}\n\n`);
  return true;
}
