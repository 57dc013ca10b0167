import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startStack } from '../../infra/dev-servers/stack.ts';
import { requestTracesOf } from '../../shared/store/request-traces.ts';
import * as build from '../api/builders.ts';
import { startStore, tokens, type TestStore } from '../api/test-api.ts';
import { startService, type Service } from '../support/service.ts';
import type { TracesOptions } from './arguments.ts';
import { load, type Load } from './load.ts';
import { processorSeconds } from './processor-time.ts';
import { median } from './statistics.ts';

const sliceMs = 1_000;
/** Pauses before and after a slice: traces are written at full rate during it, and not during the next one. */
const warmMs = 700;
const cooldownMs = 700;
const modes = ['on', 'off'] as const;
type Mode = (typeof modes)[number];
const say = (line: string) => process.stdout.write(`${line}\n`);
const percent = (ratio: number) => `${(ratio * 100 - 100).toFixed(1)} %`;

/**
 * Measures the cost of request traces. Two API processes, one with traces and one without, serve the same store. A round
 * measures them in the order A B B A, and the next round in the order B A A B, so that other load on the machine affects
 * both.
 */
export async function benchTraces({ rounds, connections }: TracesOptions): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'support-read-models-bench-'));
  const stack = await startStack({ report: say, dataDir });
  process.env.MONGODB_URL = stack.mongodbUrl;
  const store = await startStore();
  const start = (mode: Mode) =>
    startService('api', {
      MONGODB_URL: stack.mongodbUrl,
      DATABASE_NAME: store.name,
      API_HOST: '127.0.0.1',
      API_PORT: '0',
      API_TRUSTED_PROXIES: '127.0.0.0/8',
      RATE_LIMIT_REQUESTS: '0',
      REQUEST_TRACES: mode === 'on' ? 'true' : 'false',
    });
  const services = { on: start('on'), off: start('off') };
  try {
    const paths = await seed(store);
    await measureRounds({ services, paths }, { rounds, connections });
    say(`traces stored: ${await requestTracesOf(store.control).estimatedDocumentCount()}`);
  } finally {
    await Promise.all([services.on.stop(), services.off.stop()]);
    await store.close();
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function measureRounds(
  { services, paths }: { services: Record<Mode, Service>; paths: string[] },
  { rounds, connections }: TracesOptions,
): Promise<void> {
  const headers = { Authorization: `Bearer ${tokens.a}`, 'X-Forwarded-Proto': 'https' };
  const ports = {
    on: Number((await services.on.logged('listening')).port),
    off: Number((await services.off.logged('listening')).port),
  };
  const measure = async (mode: Mode) => {
    const { pid } = services[mode];
    const target = { ports: [ports[mode]], paths, headers };
    const measured = await load(target, { warmMs, ms: sliceMs, connections }, () => processorSeconds(pid));
    await sleep(cooldownMs);
    return measured;
  };
  for (const mode of modes) await services[mode].logged('ready');
  for (const mode of [...modes, ...modes, ...modes]) await measure(mode);
  const ratios: number[] = [];
  const processorRatios: number[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const slices: Record<Mode, Load[]> = { on: [], off: [] };
    const order = round % 2 ? modes : modes.toReversed();
    for (const mode of [...order, ...order.toReversed()]) slices[mode].push(await measure(mode));
    const [on, off] = [summary(slices.on), summary(slices.off)];
    ratios.push(on.perSecond / off.perSecond);
    processorRatios.push(on.processorMs / off.processorMs);
    say(
      `round ${round}: ${off.perSecond.toFixed(0)} requests/s without, ${on.perSecond.toFixed(0)} with traces; ` +
        `${off.processorMs.toFixed(2)} and ${on.processorMs.toFixed(2)} ms of processor a request`,
    );
  }
  const spread = `${percent(Math.min(...ratios))} to ${percent(Math.max(...ratios))}`;
  say(`throughput with traces: ${percent(median(ratios))} (median of ${rounds} rounds; ${spread})`);
  say(`the API's processor time a request: ${percent(median(processorRatios))} (median)`);
}

function summary(slices: Load[]) {
  const sum = (field: 'requests' | 'seconds' | 'sampled') =>
    slices.reduce((total, slice) => total + slice[field], 0);
  return {
    perSecond: sum('requests') / sum('seconds'),
    processorMs: (sum('sampled') / sum('requests')) * 1_000,
  };
}

async function seed({ database }: TestStore): Promise<string[]> {
  const ids = Array.from({ length: 1_000 }, (_, index) => `${index}`);
  await build.store(
    database,
    'ticket',
    ids.map((id) => build.ticket({ id: `ti_${id}` })),
  );
  await build.store(database, 'conversation', [build.conversation({ id: 'conv_1' })]);
  await build.store(
    database,
    'message',
    ids.map((id) => build.message({ id: `msg_${id}` })),
  );
  return [
    '/v1/tickets',
    '/v1/tickets?status=open&limit=50&updatedAt[gte]=2026-01-01',
    '/v1/tickets/ti_500',
    '/v1/conversations/conv_1/messages',
  ];
}
