import { createUseCounter } from '../../services/api/fair-share.ts';
import { createMemoryRateLimiter } from '../../services/api/rate-limit/memory-rate-limiter.ts';
import { createExpectedBytes } from '../../services/api/store/expected-bytes.ts';
import { replyBytesMax } from '../../services/api/store/read-budget.ts';
import { generationsOf, projectionVersion } from '../../shared/control/generations.ts';
import { examples, type Kind, resources, states } from '../../shared/documents/resources.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import * as build from './builders.ts';
import { lists, routes } from './every-route.ts';
import { type Answer, listOf, useApi } from './test-api.ts';

/** An organization. All its ids have the same suffix after their prefix, and all its texts contain its marker. */
type Owner = { orgId: string; idSuffix: string; marker: string; token: string };

/** Two organizations that faulty code would confuse. */
type Pair = { first: Owner; second: Owner };

const ownerNamed = (name: string, orgId: string, idSuffix: string): Owner => ({
  orgId,
  idSuffix,
  marker: `<${name}>`,
  token: `svc_live_${name}`,
});

/** Separators that code may put between two ids to make one key of them. */
const separators = [' ', '/', ':', '@', '.', '|', ',', '\n', '\u{10ffff}', '\u0301'];

/** Code that joins an organization id and a conversation id with the separator gets one text for both owners. */
const joinedPairs = separators.map((separator, index): Pair => ({
  first: ownerNamed(`${index}a`, `org_${index}`, `${index}1${separator}conv_${index}2`),
  second: ownerNamed(`${index}b`, `org_${index}${separator}conv_${index}1`, `${index}2`),
}));

/** Ids that some code would take for one text, or for something other than a text. */
const similarPairs = [
  { first: '__proto__', second: 'constructor' },
  { first: 'caf\u00e9', second: 'cafe\u0301' },
  { first: '\u{1f600}', second: '\u{1f601}' },
  { first: '$where', second: 'a.b.$c' },
  { first: 'Case', second: 'case' },
].map(({ first, second }, index): Pair => ({
  first: ownerNamed(`${index}c`, `org_${first}`, first),
  second: ownerNamed(`${index}d`, `org_${second}`, second),
}));

const pairs = [...joinedPairs, ...similarPairs];
const owners = pairs.flatMap(({ first, second }) => [first, second]);

/** The kinds of lists with ids that contain no other id. */
const plainKinds = lists.map(({ kind }) => kind).filter((kind) => kind !== 'ticket' && kind !== 'message');

/** The text in every document of an owner in a generation. */
const textOf = ({ marker }: Owner, generation: number): string => `${marker} of generation ${generation}`;

/** A document of an owner, with `text` in each field of its example that takes any text. */
function plainDocument(kind: Kind, { orgId, idSuffix }: Owner, text: string) {
  const takesText = (field: string) =>
    states[kind].safeParse({ ...examples[kind], [field]: text }).success && field !== 'id';
  const fields = Object.keys(examples[kind]).filter(takesText);
  const texts = Object.fromEntries(fields.map((field) => [field, text]));
  return build.anyOf(kind, { ...texts, id: `${resources[kind].idPrefix}${idSuffix}` }, { orgId });
}

/** The documents of an owner that refer to each other. */
function linkedDocuments(owner: Owner, text: string) {
  const { orgId, idSuffix, token } = owner;
  const organization = { orgId };
  const conversationId = `conv_${idSuffix}`;
  const conversations = build
    .ticketJoined()
    .conversations.map((summary) => ({ ...summary, id: conversationId }));
  const joined = build.ticketJoined({ conversations });
  return {
    apiKey: build.apiKey(token, { id: `key_${idSuffix}`, name: text }, organization),
    ticket: build.ticket({ id: `ti_${idSuffix}`, title: text }, { ...organization, joined }),
    conversation: build.conversation({ id: conversationId, title: text }, organization),
    messages: [1, 2, 3].map((number) =>
      build.message(
        { id: `msg_${number}${idSuffix}`, conversationId, content: `${text} ${number}` },
        organization,
      ),
    ),
  };
}

/** The documents of all owners in a generation. */
function documentsOf(generation: number) {
  const linked = owners.map((owner) => linkedDocuments(owner, textOf(owner, generation)));
  const plainDocuments = (kind: Kind) =>
    owners.map((owner) => plainDocument(kind, owner, textOf(owner, generation)));
  return {
    apiKey: linked.map(({ apiKey }) => apiKey),
    ticket: linked.map(({ ticket }) => ticket),
    conversation: linked.map(({ conversation }) => conversation),
    ...Object.fromEntries(plainKinds.map((kind) => [kind, plainDocuments(kind)])),
    message: linked.flatMap(({ messages }) => messages),
  };
}

const limit = 1_000_000;
// Stands before `useApi`, whose own hook closes the client.
afterAll(() => generationDatabase(api.store.control.client, api.store.name, 2).dropDatabase());
const api = useApi(documentsOf(1), {
  settings: { RATE_LIMIT_REQUESTS: limit },
  bounds: { windowSeconds: 86_400 },
});

/** The prefixes of ids, by the folder of their paths. */
const idPrefixes = new Map([
  ['tickets', 'ti_'],
  ['conversations', 'conv_'],
  ['channels', ''],
]);

/** The id of an owner that a path takes. */
function idIn(path: string, { idSuffix }: Owner): string {
  const folder = path.split('/')[2] ?? '';
  const prefix = idPrefixes.get(folder);
  if (prefix === undefined) throw new Error(`${path}: this test does not know the ids of ${folder}`);
  return encodeURIComponent(`${prefix}${idSuffix}`);
}

/** Every route, with the ids of an organization. Lists have pages of two. */
const pathsOf = (owner: Owner): string[] =>
  routes.map(({ path, route }) => {
    const ownPath = path.replace(':id', () => idIn(path, owner));
    return 'startingAfter' in route.query.shape ? `${ownPath}?limit=2` : ownPath;
  });

/** The number of requests that the rate limit of each token has counted. */
const countedRequests = new Map<string, number>();

/**
 * Asks again while the API answers 503 with `Retry-After`, as a client does: under a load that takes a slow machine ten
 * seconds, that answer is legal.
 */
async function ask(owner: Owner, path: string): Promise<Answer> {
  for (;;) {
    const answer = await api.get(path, { token: owner.token });
    // Without the header the request was refused before it was counted.
    if (answer.headers.has('ratelimit-remaining')) {
      const earlier = countedRequests.get(owner.token) ?? 0;
      countedRequests.set(owner.token, earlier + 1);
    }
    if (answer.status !== 503) return answer;
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

const bodyOf = async (owner: Owner, path: string): Promise<string> => {
  const { status, text } = await ask(owner, path);
  return `${status} ${text}`;
};

/** Asks for each path of an organization, one request at a time. */
async function askSequentially(owner: Owner): Promise<string[]> {
  const bodies: string[] = [];
  for (const path of pathsOf(owner)) bodies.push(await bodyOf(owner, path));
  return bodies;
}

const askConcurrently = (owner: Owner): Promise<string[]> =>
  Promise.all(pathsOf(owner).map((path) => bodyOf(owner, path)));

/** The answers of `askSequentially`, by organization and path. */
let sequentialAnswers: string[][];

beforeAll(async () => {
  sequentialAnswers = [];
  for (const owner of owners) sequentialAnswers.push(await askSequentially(owner));
});

test('an organization gets only its own documents', () => {
  const markers = owners.map(({ marker }) => marker);
  for (const [index, bodies] of sequentialAnswers.entries()) {
    for (const body of bodies) {
      expect(body).toMatch(/^200 /);
      expect(markers.filter((marker) => body.includes(marker))).toEqual([markers[index]]);
    }
  }
});

test('concurrent requests that share queries get the same answers as single requests', async () => {
  for (let round = 0; round < 5; round += 1)
    expect(await Promise.all(owners.map(askConcurrently))).toEqual(sequentialAnswers);
});

test('an organization can neither find documents nor use cursors of another organization', async () => {
  const encodedSuffix = ({ idSuffix }: Owner) => encodeURIComponent(idSuffix);
  const threadOf = (owner: Owner) => `/v1/conversations/conv_${encodedSuffix(owner)}/messages`;
  const bothWays = pairs.flatMap(({ first, second }) => [
    { intruder: first, victim: second },
    { intruder: second, victim: first },
  ]);
  for (const { intruder, victim } of bothWays) {
    const { nextCursor } = listOf(await ask(victim, `${threadOf(victim)}?limit=2`));
    const nextPage = `limit=2&startingAfter=${nextCursor}`;
    const documentsOfVictim = [
      threadOf(victim),
      `/v1/tickets/ti_${encodedSuffix(victim)}`,
      `/v1/channels/${encodedSuffix(victim)}`,
    ];
    const cursorOfVictim = [`${threadOf(intruder)}?${nextPage}`, `/v1/tickets?${nextPage}`];
    const answers = await Promise.all(
      [...documentsOfVictim, ...cursorOfVictim].map((path) => ask(intruder, path)),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 422, 422]);
    const lastPage = await bodyOf(victim, `${threadOf(victim)}?${nextPage}`);
    expect(lastPage).toContain(`${textOf(victim, 1)} 3`);
  }
});

test('each answer during a promotion has documents of the organization from one generation', async () => {
  const { control, name } = api.store;
  const secondDatabase = generationDatabase(control.client, name, 2);
  await ensureIndexes(secondDatabase);
  await build.fill(secondDatabase, documentsOf(2));
  await build.dataAsOf(control, new Date(), 2);
  const promotedAt = new Date();
  const registered = { projectionVersion, since: promotedAt };
  const generations = [
    { ...registered, number: 1, state: 'standby' as const },
    { ...registered, number: 2, state: 'active' as const },
  ];
  /** The answers to all organizations, by organization and path. */
  const askAll = (): Promise<string[][]> => Promise.all(owners.map(askConcurrently));
  const areOfSecond = (answers: string[][]) =>
    answers.flat().every((body) => body.includes(' of generation 2'));
  let latest = await askAll();
  const rounds = [latest];
  await generationsOf(control).updateOne({ _id: 'active' }, { $set: { generation: 2, generations } });
  while (!areOfSecond(latest)) {
    latest = await askAll();
    rounds.push(latest);
  }
  for (const answers of rounds) {
    for (const [ownerIndex, bodies] of answers.entries()) {
      for (const [pathIndex, body] of bodies.entries()) {
        const inFirst = sequentialAnswers[ownerIndex]?.[pathIndex] ?? '';
        const inSecond = inFirst.replaceAll(' of generation 1', ' of generation 2');
        expect([inFirst, inSecond]).toContain(body);
      }
    }
  }
});

test('each key has its own rate limit window', async () => {
  for (const owner of owners) {
    const { headers } = await ask(owner, '/v1/knowledge/qa');
    expect(Number(headers.get('ratelimit-remaining'))).toBe(limit - (countedRequests.get(owner.token) ?? 0));
  }
});

describe('the counters of a process', () => {
  test.each(separators)('do not mix callers whose ids, joined with %j, are the same text', (separator) => {
    const caller = { orgId: 'org_1', keyId: `key_1${separator}key_2` };
    const sameText = { orgId: `org_1${separator}key_1`, keyId: 'key_2' };
    const sameOrganization = { orgId: 'org_1', keyId: 'key_1' };
    const use = createUseCounter();
    const bytes = createExpectedBytes(() => 0);
    const limiter = createMemoryRateLimiter({ limit: { requests: 2, windowSeconds: 60 }, nowMs: () => 0 });
    use.add(caller, 5);
    bytes.record(caller.orgId, 'ticket', { replyItems: 1, replyBytes: 1_000 });
    limiter.consume(caller.keyId);
    expect(use.of(sameText)).toEqual({ byAll: 5, byOrganization: 0, byKey: 0 });
    expect(use.of(sameOrganization)).toEqual({ byAll: 5, byOrganization: 5, byKey: 0 });
    expect(bytes.estimate(sameText.orgId, { kind: 'ticket', items: 21 })).toBe(replyBytesMax);
    for (const { keyId } of [sameText, sameOrganization]) expect(limiter.consume(keyId).remaining).toBe(1);
    use.add(caller, -5);
    expect(use.of(caller)).toEqual({ byAll: 0, byOrganization: 0, byKey: 0 });
  });
});
