import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** What was measured: requests answered, and what `sample` gave at the end less what it gave at the start. */
export type Load = { requests: number; seconds: number; sampled: number };

/**
 * Asks a server over keep-alive connections, each as fast as it is answered, and measures `ms` milliseconds of
 * it after `warmMs`. Rejects on any answer but 200, so that a figure never stands for errors.
 */
export async function load(
  target: { port: number; paths: string[]; headers: Record<string, string> },
  { warmMs, ms, connections }: { warmMs: number; ms: number; connections: number },
  sample: () => number,
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let requests = 0;
  let isOver = false;
  const ask = async (first: number) => {
    for (let turn = first; !isOver; turn += 1) {
      await once(agent, { ...target, path: target.paths[turn % target.paths.length] ?? '/' });
      requests += 1;
    }
  };
  const window = async (): Promise<Load> => {
    await sleep(warmMs);
    const before = { requests, sampled: sample(), startedMs: performance.now() };
    await sleep(ms);
    isOver = true;
    const seconds = (performance.now() - before.startedMs) / 1_000;
    return { requests: requests - before.requests, sampled: sample() - before.sampled, seconds };
  };
  const asking = Array.from({ length: connections }, (_, index) => ask(index));
  const [measured] = await Promise.all([window(), ...asking]);
  agent.destroy();
  return measured;
}

const once = (
  agent: Agent,
  { port, path, headers }: { port: number; path: string; headers: Record<string, string> },
) =>
  new Promise<void>((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, headers, agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path}: ${response.statusCode}`));
      response.resume().once('end', resolve);
    });
    request.once('error', reject);
  });
