import { Agent } from 'node:https';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { type ApiProcess, useApiProcesses } from '../api/api-processes.ts';
import * as build from '../api/builders.ts';
import { ask } from '../api/requests.ts';
import { describeOnMongo, startReplicaSet } from '../support/mongo-servers.ts';
import { useOpened } from '../support/use-opened.ts';

const rounds = 5;
const clients = 8;

/**
 * A round counts only if MongoDB had a primary again within this time. The driver and the API then have time to answer
 * within the ten seconds of a read. A machine under load may elect more slowly.
 */
const absentMsMax = 6_000;
/** A round counts only if no timer of the test was later than this. Otherwise the API also waited for a processor. */
const lateMsMax = 2_000;

/** The API caches a key for five seconds. With 100 keys, it looks up some key at every moment of a fail-over. */
const tokens = Array.from({ length: 100 }, (_, index) => `svc_live_failover${index}`);

const documents = {
  apiKey: tokens.map((token, index) => build.apiKey(token, { id: `key_${index}` })),
  ticket: [build.ticket({ id: 'ti_1' })],
  conversation: [build.conversation({ id: 'conv_1' })],
  message: Array.from({ length: 450 }, (_, index) =>
    build.message({ id: `msg_${index}`, conversationId: 'conv_1' }),
  ),
  channel: [build.channel({ id: 'chan_1' })],
  qa: [build.qa({ id: 'qa_1' })],
};
const paths = [
  '/v1/tickets',
  '/v1/tickets?createdAt[lte]=2030-01-01',
  '/v1/tickets/ti_1',
  '/v1/conversations/conv_1',
  '/v1/conversations/conv_1/messages',
  '/v1/channels/chan_1',
  '/v1/channels',
  '/v1/knowledge/qa',
];

describeOnMongo(['mongod'], 'a fail-over of MongoDB', () => {
  const replicaSet = useOpened(() => startReplicaSet({ members: 3 }));
  // A `describe` of its own, so that the API stops before MongoDB.
  describe('with readers', () => {
    const apis = useApiProcesses(documents, () => replicaSet.url);
    let api: ApiProcess;
    beforeAll(async () => {
      api = await apis.startServing();
    });

    test.each([
      ['is killed', async () => (await replicaSet.primary()).kill()],
      [
        'is silent for ten seconds',
        async () => {
          (await replicaSet.primary()).pause();
          await sleep(10_000);
        },
      ],
      ['steps down', () => replicaSet.stepDown()],
    ])(`if the primary %s`, async (name, disturb) => {
      let counted = 0;
      while (counted < rounds) {
        await using primary = await monitorPrimary(replicaSet.url);
        const delays = monitorEventLoopDelay();
        delays.enable();
        await using load = startLoad(api);
        await load.untilAnswered(100);
        await disturb();
        await replicaSet.primary();
        await load.untilAnswered(100);
        const answers = await load.stop();
        await replicaSet.restore();
        delays.disable();
        const absentMs = primary.absentMs();
        const lateMs = Math.round(delays.max / 1e6);
        const slowestMs = Math.max(...answers.map(({ ms }) => ms));
        const refused = answers.filter(({ status }) => status !== 200);
        process.stdout.write(
          `The primary ${name}: none for ${absentMs} ms, timers up to ${lateMs} ms late; ${answers.length} answers, ${refused.length} refused, the slowest after ${slowestMs} ms\n`,
        );
        if (absentMs > absentMsMax || lateMs > lateMsMax) continue;
        expect(refused).toEqual([]);
        counted += 1;
      }
    });
  });
});

/** Starts clients that read every route. Each sends one request at a time, with the next key. */
function startLoad(child: ApiProcess) {
  const answers: { path: string; status: number; ms: number; text?: string }[] = [];
  const agent = new Agent({ keepAlive: true });
  let isStopping = false;
  let requests = 0;
  const runClient = async () => {
    while (!isStopping) {
      const path = paths[requests % paths.length] ?? '/v1/tickets';
      const headers = { Authorization: `Bearer ${tokens[requests % tokens.length]}` };
      requests += 1;
      const startedMs = performance.now();
      const { status, text } = await ask(child, path, { headers, agent });
      const ms = Math.round(performance.now() - startedMs);
      answers.push({ path, status, ms, ...(status !== 200 && { text }) });
      await sleep(20);
    }
  };
  const running = Array.from({ length: clients }, runClient);
  const stop = async () => {
    isStopping = true;
    await Promise.all(running);
    agent.destroy();
    return answers;
  };
  return {
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
    /** Resolves after this number of additional answers. */
    untilAnswered: async (additional: number) => {
      const wanted = answers.length + additional;
      while (answers.length < wanted) await sleep(50);
    },
  };
}

/** Measures for how long a client of the replica set knows no primary. */
async function monitorPrimary(url: string) {
  const client = new MongoClient(url, { heartbeatFrequencyMS: 500, connectTimeoutMS: 1_000 });
  await client.connect();
  let sinceMs: number | null = null;
  let absentMs = 0;
  client.on('topologyDescriptionChanged', ({ newDescription }) => {
    const nowMs = performance.now();
    if (sinceMs !== null) absentMs += nowMs - sinceMs;
    sinceMs = newDescription.type === 'ReplicaSetWithPrimary' ? null : nowMs;
  });
  return { absentMs: () => Math.round(absentMs), [Symbol.asyncDispose]: () => client.close() };
}
