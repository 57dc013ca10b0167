import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { measure, type Usage } from './usage.ts';

export type Target = {
  port: number;
  headers: Record<string, string>;
  /** Requested in turn. */
  paths: string[];
};

/** The usage of the server, and the time of each answered request. */
type Load = Usage & { latenciesMs: number[] };

/**
 * Sends requests over keep-alive connections, each as soon as the last one is answered, and measures them for `ms`
 * milliseconds after `warmMs`. Rejects on any status but 200, so that no figure counts errors.
 */
export async function load(
  target: Target,
  server: { pid: number },
  { warmMs = 0, ms, connections }: { warmMs?: number; ms: number; connections: number },
): Promise<Load> {
  const client = createClient(target, connections);
  const latenciesMs: number[] = [];
  let state: 'warming' | 'measuring' | 'over' = 'warming';
  const isOver = () => state === 'over';
  const send = async (connection: number) => {
    for (let turn = connection; !isOver(); turn += 1) {
      const startedMs = performance.now();
      await client.get(turn);
      if (state === 'measuring') latenciesMs.push(performance.now() - startedMs);
    }
  };
  const measuring = async () => {
    await sleep(warmMs);
    state = 'measuring';
    const usage = await measure(server, async () => {
      await sleep(ms);
      // A figure needs at least one answer, even from a short slice on a busy machine.
      while (latenciesMs.length === 0 && !isOver()) await sleep(10);
    });
    state = 'over';
    return { ...usage, latenciesMs };
  };
  const sending = Array.from({ length: connections }, (_, connection) => send(connection));
  try {
    const [measured] = await Promise.all([measuring(), ...sending]);
    return measured;
  } finally {
    state = 'over';
    client.close();
  }
}

/** Requests each path once, one after the other; returns the milliseconds of each. */
export async function requestInTurn(target: Target): Promise<number[]> {
  const client = createClient(target, 1);
  const durationsMs: number[] = [];
  for (const turn of target.paths.keys()) {
    const startedMs = performance.now();
    await client.get(turn);
    durationsMs.push(performance.now() - startedMs);
  }
  client.close();
  return durationsMs;
}

/** Calls `act` with the number of calls that are due at a constant rate, until `isOver` holds for the number so far. */
export async function atRate(
  perSecond: number,
  pollMs: number,
  isOver: (done: number) => boolean,
  act: (due: number) => unknown,
): Promise<void> {
  const startMs = performance.now();
  for (let done = 0; !isOver(done); await sleep(pollMs)) {
    const due = Math.floor(((performance.now() - startMs) / 1_000) * perSecond) - done;
    if (due > 0) await act(due);
    done += due;
  }
}

const readsPerSecond = 50;
const readerConnections = 8;

/**
 * Requests the paths at a constant rate while `work` runs, whether or not earlier requests are answered, so that a slow
 * answer delays no measurement. The time of each counts from when it was due, in milliseconds.
 */
export async function readDuring<T>(
  target: Target,
  work: () => Promise<T>,
): Promise<{ result: T; latenciesMs: number[] }> {
  const client = createClient(target, readerConnections);
  const latenciesMs: number[] = [];
  const requests: Promise<void>[] = [];
  const startMs = performance.now();
  let isOver = false;
  const request = async (turn: number) => {
    const dueMs = startMs + ((turn + 1) / readsPerSecond) * 1_000;
    await client.get(turn);
    latenciesMs.push(performance.now() - dueMs);
  };
  const send = (due: number) => {
    for (let sent = 0; sent < due; sent += 1) requests.push(request(requests.length));
  };
  try {
    const working = work().finally(() => (isOver = true));
    const [result] = await Promise.all([working, atRate(readsPerSecond, 5, () => isOver, send)]);
    await Promise.all(requests);
    return { result, latenciesMs };
  } finally {
    isOver = true;
    await Promise.allSettled(requests);
    client.close();
  }
}

/** Keep-alive connections that request the path of a turn; rejects on any status but 200. */
function createClient({ port, headers, paths }: Target, connections: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const request = (turn: number) =>
    new Promise<void>((resolve, reject) => {
      const path = paths[turn % paths.length] ?? '/';
      get({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().once('end', resolve);
      }).once('error', reject);
    });
  return { get: request, close: () => agent.destroy() };
}
