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

/** Pairs of organizations. Code that joins the ids of either by the separator gets the same text. */
const joinedAlike = [' ', '/', ':', '@', '.', '|', ',', '\n', '\u{10ffff}', '\u0301'].map(
  (separator, index): [Owner, Owner] => [
    {
      orgId: `org_${index}`,
      rest: `${index}1${separator}conv_${index}2`,
      mark: `<${index}a>`,
      token: `svc_live_${index}a`,
    },
    {
      orgId: `org_${index}${separator}conv_${index}1`,
      rest: `${index}2`,
      mark: `<${index}b>`,
      token: `svc_live_${index}b`,
    },
  ],
);

/** Pairs of texts that some code would take for one text, or for something other than a text. */
const alike = [
  ['__proto__', 'constructor'],
  ['caf\u00e9', 'cafe\u0301'],
  ['\u{1f600}', '\u{1f601}'],
  ['$where', 'a.b.$c'],
  ['Case', 'case'],
].map(([first = '', second = ''], index): [Owner, Owner] => [
  { orgId: `org_${first}`, rest: first, mark: `<${index}c>`, token: `svc_live_${index}c` },
  { orgId: `org_${second}`, rest: second, mark: `<${index}d>`, token: `svc_live_${index}d` },
]);

/** An organization. All its ids have the same rest after their prefix, and all its texts its mark. */
type Owner = { orgId: string; rest: string; mark: string; token: string };

const pairs = [...joinedAlike, ...alike];
const owners = pairs.flat();

/** The kinds of lists with ids that contain no other id. */
const plainKinds = lists.map(({ kind }) => kind).filter((kind) => kind !== 'ticket' && kind !== 'message');

/** A document with `text` in each field of its example that takes any text. */
function documentWith(text: string, kind: Kind, { orgId, rest }: Owner) {
  const takesText = (field: string) =>
    states[kind].safeParse({ ...examples[kind], [field]: text }).success && field !== 'id';
  const fields = Object.keys(examples[kind]).filter(takesText);
  const texts = Object.fromEntries(fields.map((field) => [field, text]));
  return build.anyOf(kind, { ...texts, id: `${resources[kind].idPrefix}${rest}` }, { orgId });
}

/** The documents of an organization in a generation. */
function ownedBy(owner: Owner, generation: number) {
  const { orgId, rest, mark, token } = owner;
  const organization = { orgId };
  const text = `${mark} of generation ${generation}`;
  const conversationId = `conv_${rest}`;
  const summary = { ...build.ticketJoined().conversations[0], id: conversationId } as never;
  const joined = build.ticketJoined({ conversations: [summary] });
  return {
    apiKey: build.apiKey(token, { id: `key_${rest}`, name: text }, organization),
    ticket: build.ticket({ id: `ti_${rest}`, title: text }, { ...organization, joined }),
    conversation: build.conversation({ id: conversationId, title: text }, organization),
    plain: plainKinds.map((kind) => [kind, documentWith(text, kind, owner)] as const),
    messages: [1, 2, 3].map((number) =>
      build.message(
        { id: `msg_${number}${rest}`, conversationId, content: `${text} ${number}` },
        organization,
      ),
    ),
  };
}

function documentsOf(generation: number) {
  const owned = owners.map((owner) => ownedBy(owner, generation));
  return {
    apiKey: owned.map(({ apiKey }) => apiKey),
    ticket: owned.map(({ ticket }) => ticket),
    conversation: owned.map(({ conversation }) => conversation),
    ...Object.fromEntries(
      plainKinds.map((kind) => [kind, owned.flatMap(({ plain }) => new Map(plain).get(kind) ?? [])]),
    ),
    message: owned.flatMap(({ messages }) => messages),
  };
}

const limit = 1_000_000;
// Before `useApi`, whose own hook closes the client.
afterAll(() => generationDatabase(api.store.control.client, api.store.name, 2).dropDatabase());
const api = useApi(documentsOf(1), {
  settings: { RATE_LIMIT_REQUESTS: limit },
  bounds: { windowSeconds: 86_400 },
});

/** The prefix of the ids of an organization, by the folder of their paths. */
const prefixOf = new Map([
  ['tickets', 'ti_'],
  ['conversations', 'conv_'],
  ['channels', ''],
]);

function idIn(path: string, { rest }: Owner): string {
  const folder = path.split('/')[2] ?? '';
  const prefix = prefixOf.get(folder);
  if (prefix === undefined) throw new Error(`${path}: this test does not know the ids of ${folder}`);
  return encodeURIComponent(`${prefix}${rest}`);
}

/** Every route, with the ids of an organization. Lists have pages of two. */
const pathsOf = (owner: Owner): string[] =>
  routes.map(({ path, route }) => {
    const ownPath = path.replace(':id', () => idIn(path, owner));
    return 'startingAfter' in route.query.shape ? `${ownPath}?limit=2` : ownPath;
  });

/** The requests of each organization that its rate limit has counted, by token. */
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

/** The answers to each path of an organization, one request at a time. */
async function askAlone(owner: Owner): Promise<string[]> {
  const bodies: string[] = [];
  for (const path of pathsOf(owner)) bodies.push(await bodyOf(owner, path));
  return bodies;
}

const askAtOnce = (owner: Owner): Promise<string[]> =>
  Promise.all(pathsOf(owner).map((path) => bodyOf(owner, path)));

/** The answers to single requests of each organization. */
let answersAlone: string[][];

beforeAll(async () => {
  answersAlone = [];
  for (const owner of owners) answersAlone.push(await askAlone(owner));
});

test('an organization gets only its own documents', () => {
  const marks = owners.map(({ mark }) => mark);
  for (const [index, bodies] of answersAlone.entries()) {
    for (const body of bodies) {
      expect(body).toMatch(/^200 /);
      expect(marks.filter((mark) => body.includes(mark))).toEqual([marks[index]]);
    }
  }
});

test('concurrent requests that share queries get the same answers as single requests', async () => {
  for (let round = 0; round < 5; round += 1)
    expect(await Promise.all(owners.map(askAtOnce))).toEqual(answersAlone);
});

test('an organization can neither find documents nor use cursors of another organization', async () => {
  for (const pair of pairs) {
    for (const [asking, other] of [pair, pair.toReversed()] as [Owner, Owner][]) {
      const thread = (owner: Owner) => `/v1/conversations/conv_${encodeURIComponent(owner.rest)}/messages`;
      const { nextCursor } = listOf(await ask(other, `${thread(other)}?limit=2`));
      const after = `limit=2&startingAfter=${nextCursor}`;
      const paths = [
        thread(other),
        `/v1/tickets/ti_${encodeURIComponent(other.rest)}`,
        `/v1/channels/${encodeURIComponent(other.rest)}`,
        `${thread(asking)}?${after}`,
        `/v1/tickets?${after}`,
      ];
      const answers = await Promise.all(paths.map((path) => ask(asking, path)));
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 422, 422]);
      const last = await bodyOf(other, `${thread(other)}?${after}`);
      expect(last).toContain(`${other.mark} of generation 1 3`);
    }
  }
});

test('each answer during a promotion has documents of the organization from one generation', async () => {
  const { control, name } = api.store;
  const next = generationDatabase(control.client, name, 2);
  await ensureIndexes(next);
  await build.fill(next, documentsOf(2));
  const seen: string[][][] = [];
  const isServed = () =>
    seen.at(-1)?.every((bodies) => bodies.every((body) => body.includes(' of generation 2')));
  await build.dataAsOf(control, new Date(), 2);
  const at = new Date();
  const generations = [1, 2].map((number) => ({
    number,
    projectionVersion,
    since: at,
    registeredAt: at,
    state: number === 2 ? ('active' as const) : ('standby' as const),
  }));
  seen.push(await Promise.all(owners.map(askAtOnce)));
  await generationsOf(control).updateOne({ _id: 'active' }, { $set: { generation: 2, generations } });
  while (!isServed()) seen.push(await Promise.all(owners.map(askAtOnce)));
  for (const answers of seen) {
    for (const [index, bodies] of answers.entries()) {
      for (const [position, body] of bodies.entries()) {
        const ofFirst = answersAlone[index]?.[position] ?? '';
        const ofSecond = ofFirst.replaceAll(' of generation 1', ' of generation 2');
        expect([ofFirst, ofSecond]).toContain(body);
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
  /** As above, but the part that is joined to the organization is the key. */
  const callers = joinedAlike.map(([{ orgId }], index) => {
    const separator = pairs[index]?.[1].orgId.slice(orgId.length, -`conv_${index}1`.length) ?? '';
    return [
      { orgId, keyId: `key_1${separator}key_2` },
      { orgId: `${orgId}${separator}key_1`, keyId: 'key_2' },
      { orgId, keyId: 'key_1' },
    ];
  });

  test.each(callers)('do not mix %j, %j and %j', (...similarCallers) => {
    const use = createUseCounter();
    const bytes = createExpectedBytes(() => 0);
    const limiter = createMemoryRateLimiter({ limit: { requests: 2, windowSeconds: 60 }, nowMs: () => 0 });
    const [first] = similarCallers;
    if (!first) throw new Error('no caller');
    use.add(first, 5);
    bytes.record(first.orgId, 'ticket', { replyItems: 1, replyBytes: 1_000 });
    limiter.consume(first.keyId);
    for (const other of similarCallers.slice(1)) {
      expect(use.of(other)).toEqual({ all: 5, org: other.orgId === first.orgId ? 5 : 0, key: 0 });
      if (other.orgId !== first.orgId)
        expect(bytes.estimate(other.orgId, { kind: 'ticket', items: 21 })).toBe(replyBytesMax);
      expect(limiter.consume(other.keyId).remaining).toBe(1);
    }
    use.add(first, -5);
    expect(use.of(first)).toEqual({ all: 0, org: 0, key: 0 });
  });
});
