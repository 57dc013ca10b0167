import { request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { conversationSchema } from '../../services/api/resources/conversations/schema.ts';
import { ask } from './requests.ts';
import { startApiProcess, type ApiProcess } from './api-process.ts';
import { residentBytes } from '../support/memory.ts';
import * as build from './builders.ts';
import { mongoUrl, startStore, tokens, type TestStore } from './test-api.ts';

const size = 100_000;
const growthMax = 50 * 1_024 * 1_024;
const content = 'Lorem ipsum dolor sit amet. '.repeat(12);
const idOf = (index: number) => `msg_${String(index).padStart(6, '0')}`;

let store: TestStore;
let api: ApiProcess;

beforeAll(async () => {
  store = await startStore();
  await build.store(store.database, 'conversation', [
    build.conversation({ id: 'conv_1' }),
    build.conversation({ id: 'conv_small' }),
  ]);
  const template = build.message({ id: 'msg_0', content });
  await build.store(store.database, 'message', [
    build.message({ id: 'msg_small', conversationId: 'conv_small' }),
  ]);
  const startedMs = template.state.createdAt.getTime();
  const batchSize = 5_000;
  for (let start = 0; start < size; start += batchSize) {
    const batch = Array.from({ length: batchSize }, (_, offset) => {
      const id = idOf(start + offset);
      const createdAt = new Date(startedMs + (start + offset) * 10);
      const state = { ...template.state, id, createdAt };
      return { ...template, _id: id, state, byCreated: `${createdAt.toISOString()}${id}` };
    });
    await build.store(store.database, 'message', batch);
  }
  api = await startApiProcess({
    MONGODB_URL: mongoUrl(),
    DATABASE_NAME: store.name,
    API_TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT_REQUESTS: '0',
  });
}, 300_000);

afterAll(async () => {
  await api.stop();
  await store.close();
}, 60_000);

const https = { 'X-Forwarded-Proto': 'https' };

const open = (id: string) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { ...https, Authorization: `Bearer ${tokens.a}` };
    request(
      { host: '127.0.0.1', port: api.port, path: `/v1/conversations/${id}`, headers, agent: false },
      resolve,
    )
      .on('error', reject)
      .end();
  });

const readAll = async (id: string): Promise<string> =>
  (await ask(api, `/v1/conversations/${id}`, { secure: false, headers: https })).text;

/** Runs `work` and returns by how much the API's memory grew at most, in bytes. */
async function growthDuring(work: () => Promise<unknown>): Promise<number> {
  const before = residentBytes(api);
  let peak = before;
  const sampling = setInterval(() => (peak = Math.max(peak, residentBytes(api))), 5);
  await work();
  clearInterval(sampling);
  return peak - before;
}

const openCursors = () => api.log.filter(({ msg, aborted }) => msg === 'request' && aborted === true).length;

test('a conversation of 100,000 messages is served completely, in order, with memory independent of its length', async () => {
  // The first requests load code and fill pools, which is not caused by the thread.
  for (let index = 0; index < 20; index += 1) await readAll('conv_small');
  let text = '';
  const growth = await growthDuring(async () => {
    text = await readAll('conv_1');
  });
  const { messages } = conversationSchema.parse(JSON.parse(text));
  expect(messages).toHaveLength(size);
  expect(messages.every(({ id }, index) => id === idOf(index))).toBe(true);
  process.stdout.write(
    `RSS growth ${(growth / 1_048_576).toFixed(1)} MB for ${(text.length / 1_048_576).toFixed(1)} MB\n`,
  );
  expect(growth).toBeLessThan(growthMax);
}, 120_000);

test('a client that stops reading stops reads of the store', async () => {
  const response = await open('conv_1');
  response.pause();
  const growth = await growthDuring(() => sleep(2_000));
  process.stdout.write(`RSS growth ${(growth / 1_048_576).toFixed(1)} MB for a client that does not read\n`);
  expect(growth).toBeLessThan(growthMax);
  const before = openCursors();
  response.destroy();
  while (openCursors() === before) await sleep(20);
  expect(api.stderr()).toBe('');
}, 60_000);
