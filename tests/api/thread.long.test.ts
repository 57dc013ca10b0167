import { conversationSchema } from '../../services/api/resources/conversations/schema.ts';
import { eventually } from '../support/eventually.ts';
import { residentBytes } from '../support/memory.ts';
import * as build from './builders.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import { ask, begin } from './requests.ts';

const sizes = { conv_1: 100_000, conv_warm: 10_000 };
const growthMax = 35 * 1_024 * 1_024;
const children = useApiProcesses({
  conversation: [...Object.keys(sizes), 'conv_small'].map((id) => build.conversation({ id })),
  message: [
    build.message({ id: 'msg_small', conversationId: 'conv_small' }),
    ...Object.entries(sizes).flatMap(([id, length]) => build.thread(id, length)),
  ],
});
let api: ApiProcess;

beforeAll(async () => {
  api = await children.startServing();
});

const readAll = async (id: string) => (await ask(api, `/v1/conversations/${id}`, { secure: false })).text;

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
  // The same amount in shorter threads loads the code, fills the pools and grows V8's young generation to its limit.
  for (let index = 0; index < 10; index += 1) await readAll('conv_warm');
  let text = '';
  const growth = await growthDuring(async () => {
    text = await readAll('conv_1');
  });
  const { messages } = conversationSchema.parse(JSON.parse(text));
  expect(messages).toHaveLength(sizes.conv_1);
  expect(messages.every(({ id }, index) => id === `msg_${String(index).padStart(6, '0')}`)).toBe(true);
  process.stdout.write(
    `RSS growth ${(growth / 1_048_576).toFixed(1)} MB for ${(text.length / 1_048_576).toFixed(1)} MB\n`,
  );
  expect(growth).toBeLessThan(growthMax);
});

test('a client that stops reading stops reads of the store', async () => {
  const response = await begin(api, '/v1/conversations/conv_1', { secure: false });
  response.pause();
  // Others read meanwhile for longer than the rest of the thread would take.
  const growth = await growthDuring(async () => {
    for (let index = 0; index < 1_000; index += 1) await readAll('conv_small');
  });
  process.stdout.write(`RSS growth ${(growth / 1_048_576).toFixed(1)} MB for a client that does not read\n`);
  expect(growth).toBeLessThan(growthMax);
  const before = openCursors();
  response.destroy();
  await eventually(() => openCursors() !== before);
  expect(api.stderr()).toBe('');
});
