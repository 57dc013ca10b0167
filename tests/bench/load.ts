import { Agent, get } from 'node:http';
import { connect, constants, type ClientHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';

export type Target = {
  port: number;
  paths: string[];
  headers: Record<string, string>;
  /** HTTP/2 over TLS, without verifying the certificate: it is self-signed. HTTP/1.1 if absent. */
  http2?: boolean;
};

/** The answered requests, and the difference between the last and the first value of `sample`. */
export type Load = { requests: number; seconds: number; sampled: number; latenciesMs: number[] };

export type LoadOptions = { warmMs: number; ms: number; connections: number };

/** The number of streams that share one HTTP/2 connection. */
const streamsPerConnection = 8;

/**
 * Sends requests over keep-alive connections, each as soon as the last one is answered, and measures them for `ms`
 * milliseconds after `warmMs`. Rejects on any status but 200, so that no figure counts errors.
 */
export async function load(
  target: Target,
  { warmMs, ms, connections }: LoadOptions,
  sample: () => number,
): Promise<Load> {
  const client = createClient(target, connections);
  const latenciesMs: number[] = [];
  let isMeasured = false;
  let isOver = false;
  let hasFailed = false;
  const send = async (first: number) => {
    for (let turn = first; !isOver; turn += 1) {
      const startedMs = performance.now();
      await client.get(target.paths[turn % target.paths.length] ?? '/', first);
      if (isMeasured) latenciesMs.push(performance.now() - startedMs);
    }
  };
  const window = async (): Promise<Load> => {
    await sleep(warmMs);
    isMeasured = true;
    const before = { sampled: sample(), startedMs: performance.now() };
    await sleep(ms);
    // A figure needs at least one answer, even from a short slice on a busy machine.
    while (latenciesMs.length === 0 && !hasFailed) await sleep(10);
    isOver = true;
    isMeasured = false;
    const seconds = (performance.now() - before.startedMs) / 1_000;
    return { requests: latenciesMs.length, sampled: sample() - before.sampled, seconds, latenciesMs };
  };
  const sending = Array.from({ length: connections }, (_, index) =>
    send(index).catch((error: unknown) => {
      hasFailed = true;
      throw error;
    }),
  );
  try {
    const [measured] = await Promise.all([window(), ...sending]);
    return measured;
  } finally {
    isOver = true;
    client.close();
  }
}

/** Requests each path once, one after the other; returns the milliseconds of each. */
export async function requestInTurn(target: Target): Promise<number[]> {
  const client = createClient(target, 1);
  const durationsMs: number[] = [];
  for (const path of target.paths) {
    const startedMs = performance.now();
    await client.get(path, 0);
    durationsMs.push(performance.now() - startedMs);
  }
  client.close();
  return durationsMs;
}

export type Client = { get: (path: string, connection: number) => Promise<void>; close: () => void };

export const createClient = (target: Target, connections: number): Client =>
  target.http2 ? http2Client(target, connections) : http1Client(target, connections);

function http1Client({ port, headers }: Target, connections: number): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const send = (path: string) =>
    new Promise<void>((resolve, reject) => {
      const request = get({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().once('end', resolve);
      });
      request.once('error', reject);
    });
  return { get: send, close: () => agent.destroy() };
}

function http2Client(target: Target, connections: number): Client {
  const count = Math.max(1, Math.ceil(connections / streamsPerConnection));
  const sessions: ClientHttp2Session[] = Array.from({ length: count }, () =>
    connect(`https://127.0.0.1:${target.port}`, { rejectUnauthorized: false }),
  );
  const get = (path: string, connection: number) =>
    new Promise<void>((resolve, reject) => {
      const session = sessions[connection % count];
      const stream = session?.request({ [constants.HTTP2_HEADER_PATH]: path, ...target.headers });
      if (!stream) return reject(new Error('there is no connection'));
      stream.once('response', (headers) => {
        const status = Number(headers[constants.HTTP2_HEADER_STATUS]);
        if (status !== 200) reject(new Error(`${path}: ${status}`));
      });
      stream.resume().once('end', resolve).once('error', reject);
    });
  return { get, close: () => sessions.forEach((session) => session.destroy()) };
}
