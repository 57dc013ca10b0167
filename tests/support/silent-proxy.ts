import { connect, createServer, type Socket } from 'node:net';
import { type ISocketFactory, Kafka, logLevel } from 'kafkajs';
import { listen } from '../../shared/runtime/listen.ts';

/**
 * How connections fall silent. `forget`: the proxy acknowledges all bytes and loses them, like a balancer. `drop`: the
 * proxy reads no more bytes. Neither side learns of the silence.
 */
export type Silence = 'forget' | 'drop';

/** A proxy of a broker whose connections a test can make silent. */
export async function createSilentProxy(broker: string) {
  const [host = '', port = ''] = broker.split(':');
  const silencers = new Set<(how: Silence) => void>();
  const sockets = new Set<Socket>();
  /** How a new connection is silent from its beginning; null if it is not. */
  let silenceOfNew: Silence | null = null;
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    const silence = (how: Silence) => {
      client.unpipe(upstream);
      upstream.unpipe(client);
      if (how === 'drop') client.pause();
      else client.resume();
    };
    silencers.add(silence);
    if (silenceOfNew) silence(silenceOfNew);
  }).unref();
  const proxy = await listen(server, '127.0.0.1', 0);
  const socketFactory: ISocketFactory = ({ onConnect }) => connect(proxy.port, '127.0.0.1', onConnect);
  return {
    /** Its address, for clients that a broker sends there. */
    address: `127.0.0.1:${proxy.port}`,
    /** Makes the present connections silent; with `isForNew`, later connections, too. */
    silence: (how: Silence, { isForNew = false } = {}) => {
      for (const silence of silencers) silence(how);
      silencers.clear();
      silenceOfNew = isForNew ? how : null;
    },
    /** A client whose connections go through the proxy, whatever address the broker returns. */
    kafka: (requestTimeout: number) =>
      new Kafka({
        ...{ brokers: [broker], socketFactory, requestTimeout, connectionTimeout: 5_000 },
        retry: { initialRetryTime: 200, maxRetryTime: 5_000, retries: 8 },
        logLevel: logLevel.NOTHING,
      }),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
