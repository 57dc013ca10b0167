import { createHash } from 'node:crypto';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { readSkips, storeSkip } from '../../shared/control/ledger-store.ts';
import { storeLogGaps } from '../../shared/control/log-gaps.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { requestTracesOf } from '../../shared/control/request-traces.ts';
import { examples, kinds } from '../../shared/documents/resources.ts';
import { collectionOf, createMongo } from '../../shared/store/connection.ts';
import { enumerated, filteredQueries, lists } from '../api/every-route.ts';
import { startApi } from '../api/test-api.ts';
import { storeDeadLetter } from '../support/dead-letters.ts';
import { deletionOf } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import type { useProjector } from '../support/use-projector.ts';

type Projector = ReturnType<typeof useProjector>;

const token = 'svc_live_commands01234567';
const tokenSha256 = createHash('sha256').update(token).digest('hex');
const expired = { createdAt: '2020-01-01T00:00:00Z', updatedAt: '2020-01-01T00:00:00Z' };
const numbered = (length: number, makeEvent: (number: string) => Event) =>
  Array.from({ length }, (_, index) => makeEvent(String(index).padStart(4, '0')));

const otherKinds = kinds.filter((kind) => !['apiKey', 'conversation', 'message'].includes(kind));

/** More conversations than a ticket embeds, and more messages than a fan-out finds at once. */
const backlog: Event[] = [
  created('apiKey', 'key_1', { tokenSha256 }),
  ...otherKinds.map((kind) => created(kind, examples[kind].id)),
  created('contact', 'con_2'),
  created('contact', 'con_gone'),
  created('channel', 'chan_short', { dataRetentionDays: 30 }),
  created('ticket', 'ti_2', { requesterId: 'con_2', tagIds: ['tag_1'], topicIds: ['topic_1'] }),
  ...numbered(205, (id) => created('conversation', `conv_${id}`, { channelId: 'chan_1' })),
  created('conversation', 'conv_old', { ...expired, channelId: 'chan_short' }),
  created('message', 'msg_old', { ...expired, conversationId: 'conv_old' }),
  created('conversation', 'conv_pending', { channelId: 'missing' }),
  created('message', 'msg_orphan', { conversationId: 'conv_missing' }),
  ...numbered(2_010, (id) => created('message', `msg_${id}`, { conversationId: 'conv_0000' })),
];

/** Projects a backlog and changes of every kind, stores dead letters, and sweeps with a second projector. */
export async function project(projector: Projector): Promise<void> {
  await projector.publish(...backlog);
  const first = await projector.start();
  await projector.applied();
  await changeEntities(projector);
  await storeDeadLetters(projector);
  await first.stop();
  await sweep(projector);
  await readAndSkip(projector);
}

async function changeEntities({ environment, publish }: Projector): Promise<void> {
  await publish(
    created('contact', 'con_1', { name: 'Grace' }, 2),
    created('contact', 'con_2', { name: 'Alan' }, 2),
    created('ticket', 'ti_2', { requesterId: 'con_1' }, 2),
    deletionOf(created('tag', 'tag_1'), 2),
    created('conversation', 'conv_0001', { channelId: 'chan_1', ticketId: 'ti_2' }, 2),
    { ...created('user', 'user_1'), op: 'tombstone' },
  );
  // An operator has edited a document. The next event replaces the document.
  await collectionOf(environment.database, 'qa').updateOne({ _id: 'qa_1' }, { $unset: { revision: '' } });
  await publish(created('qa', 'qa_1', {}, 2));
}

/** Stores two dead letters. The deletion of the entity of one of them erases it. */
async function storeDeadLetters({ send, publish, applied, deadLetters }: Projector): Promise<void> {
  await send('contact', { key: 'con_gone', value: '{' }, { key: 'con_bad', value: '{' });
  await eventually(async () => (await deadLetters()).length === 2);
  await publish(deletionOf(created('contact', 'con_gone'), 2));
  await applied();
  await eventually(async () => (await deadLetters()).length === 1);
}

/** A second projector sweeps, and stores a dead letter beyond the share of its topic without its bytes. */
async function sweep({ environment, send, applied, start, find }: Projector): Promise<void> {
  // The sweep reads orphans only after days: here one without a conversation, and one whose conversation has come.
  await collectionOf(environment.database, 'message').updateMany(
    { _id: { $in: ['msg_orphan', 'msg_0000'] } },
    { $set: { orphanedAt: new Date(0) } },
  );
  await start({ settings: { DEAD_LETTER_MEGABYTES_MAX: 1 } });
  await send('contact', { key: 'con_bad_too', value: '{'.repeat(200_000) });
  await applied();
  await eventually(async () => (await find('conversation', 'conv_old'))?.state === undefined);
  await eventually(async () => (await find('message', 'msg_orphan'))?.state === undefined);
}

/** Sends the commands of two situations that this run does not have. */
async function readAndSkip({ environment }: Projector): Promise<void> {
  // Only the first sweep of an owner reads all conversations.
  const client = createMongo(environment.config.MONGODB_URL, 'projector');
  const database = client.db(environment.database.databaseName);
  const sweepStore = mongoSweepStore({
    database,
    generation: 1,
    control: environment.control,
    prefix: 'support.',
    now: () => new Date(),
  });
  await sweepStore.readConversations({ id: 'chan_short', orgId: 'org_1' }, '', new Date());
  // An operator skips a record only in a partition that is stuck.
  const control = client.db(environment.control.databaseName);
  const place = { topic: 'support.tags', partition: 0, offset: 1 };
  await storeSkip(control, place, { generations: [1], by: 'test', why: 'test', at: new Date() });
  await readSkips(control, 1, place);
  await client.close();
}

/** The list of tickets with each filter by status, sort and bound of a date. */
function ticketPaths(): string[] {
  const listed: string[] = [];
  for (const status of ['', '&status=open', '&status=open&status=closed']) {
    for (const sort of ['createdAt', 'updatedAt', '-updatedAt']) {
      for (const bound of ['', '&createdAt[gte]=2020-01-01', '&updatedAt[lte]=2099-01-01'])
        listed.push(`/v1/tickets?sort=${sort}${status}${bound}`);
    }
  }
  return listed;
}

const paths = [
  ...ticketPaths(),
  ...['/v1/tickets/ti_1', '/v1/conversations/conv_0000', '/v1/conversations/conv_0000/messages'],
  '/v1/channels/chan_1',
  ...lists.map(({ path }) => path).filter((path) => !path.includes(':id')),
  ...enumerated.map(({ url, name, values: [value] }) => `${url}?${name}=${value}`),
  ...filteredQueries,
];

/** Requests every route of the API with its filters and sorts. Returns the id of a request that has a trace. */
export async function serve({ environment }: Projector): Promise<string> {
  const client = createMongo(environment.config.MONGODB_URL, 'api');
  const api = await startApi({ client, name: environment.name }, { settings: { REQUEST_TRACE_DAYS: 90 } });
  const requestIds: string[] = [];
  for (const path of [...paths, '/v1/tickets/ti_missing', '/v1/tickets?limit=1&sort=createdAt']) {
    const { status, headers } = await api.get(path, { token });
    if (status !== 200 && !path.includes('missing')) throw new Error(`${path}: ${status}`);
    requestIds.push(headers.get('request-id') ?? '');
  }
  const [requestId = ''] = requestIds;
  const traces = requestTracesOf(environment.control);
  await eventually(async () => (await traces.countDocuments({ 'traces._id': requestId })) === 1);
  await api.close();
  await client.close();
  return requestId;
}

type Run = (...args: string[]) => Promise<void>;

/** The arguments of the commands of the CLI that the run has used. */
export const usedArguments: string[] = [];

/** Runs commands of the CLI, and fails at an exit code that is not among `codes`. */
const runnerOf =
  ({ cli }: Projector, codes: number[]): Run =>
  async (...args) => {
    usedArguments.push(`${args.join(' ')} `);
    const { code, errors } = await cli(...args);
    if (!codes.includes(code)) throw new Error(`${args.join(' ')} exited ${code}: ${errors}`);
  };

export async function operate(projector: Projector, requestId: string): Promise<void> {
  const run = runnerOf(projector, [0, 1]);
  const runSuccessfully = runnerOf(projector, [0]);
  await runSuccessfully('topics', 'create');
  await run('status');
  for (const role of ['cli', 'projector', 'api']) await run('check', role);
  await run('trace', requestId);
  for (const id of ['ti_1', 'msg_0000', 'conv_0000', 'con_1']) await run('explain', id);
  await runSuccessfully('keys', 'create', '--org', 'org_1');
  await run('keys', 'list', '--org', 'org_1');
  await run('keys', 'block', 'key_1', '--why', 'test');
  await run('keys', 'list');
  await run('keys', 'unblock', 'key_1');
  await runSuccessfully('keys', 'archive', 'key_1', '--yes');
  await storeDeadLetter(projector.environment, created('contact', 'con_1'), { offset: 900 });
  const [letter] = await projector.deadLetters();
  const id = letter?._id ?? '';
  const topic = projector.topic('contact');
  await run('dead-letters', 'list');
  await run('dead-letters', 'list', '--topic', topic, '--org', 'org_1', '--reason', 'not_json');
  await run('dead-letters', 'show', id);
  await run('dead-letters', 'redrive', '--topic', topic);
  await run('dead-letters', 'purge', id, '--dry-run');
  await run('dead-letters', 'purge', '--topic', topic, '--yes');
  await run('dead-letters', 'show', id);
  await run('dead-letters', 'skip', `${topic}/0/0`, '--why', 'test', '--yes');
  await run('verify', '--repair');
  await run('verify', 'ticket', '--repair');
}

/** Rebuilds, promotes the new generation, rolls back, and promotes again. */
export async function rebuild(projector: Projector): Promise<void> {
  const run = runnerOf(projector, [0]);
  await run('rebuild', 'start', '--why', 'test');
  await projector.start({ settings: { GENERATION: 2 } });
  await run('rebuild', 'await', '2');
  await run('rebuild', 'status');
  await run('rebuild', 'history');
  await run('rebuild', 'compare', '2');
  await run('rebuild', 'promote', '2', '--why', 'test');
  await run('rebuild', 'rollback', '1', '--why', 'test');
  await run('rebuild', 'promote', '2', '--why', 'test');
  await run('rebuild', 'keeps', '1', '2');
}

/** Accepts a gap of the active generation, and drops the formerly active generation. */
export async function drop(projector: Projector): Promise<void> {
  const run = runnerOf(projector, [0]);
  const { control } = projector.environment;
  await projector.stop();
  const gap = { topic: projector.topic('tag'), partition: 0, kind: 'diverged' as const, from: 0, to: 0 };
  await storeLogGaps({ control, generation: 2, by: 'test' }, [{ ...gap, topicId: null }], new Date());
  await progressOf(control).updateMany({}, { $set: { updatedAt: new Date(0) } });
  await run('accept', 'gap', '2', '--why', 'test');
  await run('rebuild', 'drop', '1', '--force', '--why', 'test');
}
