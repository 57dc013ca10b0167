import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MongoClient } from 'mongodb';
import { measure, type Usage } from './usage.ts';

type Target = {
  port: number;
  headers: Record<string, string>;
  /** The connections request these paths in turn. */
  paths: string[];
};

/**
 * Sends requests over keep-alive connections, each as soon as the server has answered the last one. Measures the server
 * for `ms` milliseconds after `warmMs`. Rejects on any status but 200, so no figure includes errors.
 */
export async function load(
  { port, headers, paths }: Target,
  server: { pid: number },
  {
    warmMs,
    ms,
    connections,
    mongo,
  }: { warmMs: number; ms: number; connections: number; mongo?: MongoClient },
): Promise<Usage & { latenciesMs: number[] }> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const request = (index: number) =>
    new Promise<void>((resolve, reject) => {
      const path = paths[index % paths.length] ?? '/';
      get({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
        response.resume().once('end', resolve);
      }).once('error', reject);
    });
  const latenciesMs: number[] = [];
  let state: 'warming' | 'measuring' | 'over' = 'warming';
  const isOver = () => state === 'over';
  const send = async (connection: number) => {
    for (let index = connection; !isOver(); index += 1) {
      const startedMs = performance.now();
      await request(index);
      if (state === 'measuring') latenciesMs.push(performance.now() - startedMs);
    }
  };
  const measuring = async () => {
    await sleep(warmMs);
    state = 'measuring';
    const work = async () => {
      await sleep(ms);
      // A figure needs at least one answer, even from a short slice on a busy machine.
      while (latenciesMs.length === 0 && !isOver()) await sleep(10);
    };
    const usage = await measure(server, work, mongo);
    state = 'over';
    return { ...usage, latenciesMs };
  };
  try {
    const sending = Array.from({ length: connections }, (_, connection) => send(connection));
    const [measured] = await Promise.all([measuring(), ...sending]);
    return measured;
  } finally {
    state = 'over';
    agent.destroy();
  }
}
