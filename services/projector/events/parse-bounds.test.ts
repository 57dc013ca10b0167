import type { Kind } from '../../../shared/documents/document.ts';
import { states } from '../../../shared/documents/resources.ts';
import { examples, withData } from './example-states.ts';
import { describeIssues } from './describe-issues.ts';
import { parse } from './parse.ts';

const attachment = { id: 'att_1', filename: 'a.txt', inline: false };
const chatbot = {
  layout: 'page',
  languages: { default: 'en', enabled: ['en'] },
  routing: {
    entry: 'ai',
    escalation: {},
    contactCapture: { name: false, phone: false, verifyEmail: false },
  },
  allowedDomains: ['example.com'],
  audience: { ruleCount: 0, fallback: 'open' },
  identityRequired: false,
  privacyOptIn: 'none',
};
const form = {
  title: 'Ask',
  description: 'us',
  fields: [{ label: 'Name', type: 'text', required: true }],
  allowedDomains: ['example.com'],
  redirectUrl: 'https://example.com',
};
const utmTagging = { enabled: true, source: 'a', medium: 'b', campaign: 'c' };
const email = {
  ...(examples.channel.email as object),
  connection: { status: 'connected' },
  replyTo: 'help@example.com',
  description: 'Mail',
  sendingDomain: { domain: 'example.com', verificationStatus: 'verified' },
  aiMode: { mode: 'autopilot', replyDelayMinutes: 1, aiDisplayName: 'Robin' },
  signatures: { human: 'a', ai: 'b', useForNewMessages: true, useForReplies: true },
  autoReply: 'Hello',
};

/** Valid states with every text and list filled. */
const channel = { ...examples.channel, settings: { ...(examples.channel.settings as object), utmTagging } };
const filled: [string, Kind, object][] = [
  ['apiKey', 'apiKey', examples.apiKey],
  ['contact', 'contact', { ...examples.contact, name: 'Ada' }],
  ['user', 'user', { ...examples.user, name: 'Grace' }],
  ['agent', 'agent', examples.agent],
  ['tag', 'tag', examples.tag],
  ['topic', 'topic', examples.topic],
  ['channel (email)', 'channel', { ...channel, email }],
  ['channel (chatbot)', 'channel', { ...channel, type: 'chatbot', email: null, chatbot }],
  ['channel (form)', 'channel', { ...channel, type: 'form', email: null, form }],
  ['ticket', 'ticket', { ...examples.ticket, tagIds: ['t'], topicIds: ['t'] }],
  ['conversation', 'conversation', { ...examples.conversation, tagIds: ['t'], topicIds: ['t'] }],
  ['message', 'message', { ...examples.message, content: 'Hello', attachments: [attachment] }],
  ['qa', 'qa', { ...examples.qa, questionVariations: ['How?'] }],
];

type Place = { path: string; value: unknown; put: (other: unknown) => unknown };

/** Every text and list of a value, with what the whole is when something else stands there. */
function* places(value: unknown, path: string, put: Place['put'] = (other) => other): Generator<Place> {
  if (typeof value === 'string' || Array.isArray(value)) yield { path, value, put };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const inside = (other: unknown) =>
      put(Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other });
    yield* places(field, `${path}.${name}`, inside);
  }
}

const faultOf = (kind: Kind, state: unknown): string | null => {
  const { error } = states[kind].safeParse(state);
  return error ? describeIssues(error, 'data') : null;
};

const all = filled.flatMap(([label, kind, state]) =>
  [...places(state, 'data')].map((place) => ({ ...place, kind, label })),
);
/** Texts that may go on in any way: no enumerated words, instants, colours or hashes. */
const texts = all.flatMap(({ value, kind, put, path, label }) =>
  typeof value === 'string' && faultOf(kind, put(`${value}x`)) === null
    ? [
        {
          label,
          path,
          faultAt: (length: number, filler = 'x') => faultOf(kind, put(value.padEnd(length, filler))),
        },
      ]
    : [],
);
const lists = all.flatMap(({ value, kind, put, path, label }) =>
  Array.isArray(value)
    ? [
        {
          label,
          path,
          element: value[0] as unknown,
          faultWith: (other: unknown) => faultOf(kind, put(other)),
        },
      ]
    : [],
);

/** The longest that a text may be, by the name of its field, or of the list that it is in. */
const lengths: Record<number, string> = {
  256: 'id requesterId ticketId channelId contactId conversationId tagIds topicIds',
  1_024: 'name source medium campaign displayName aiDisplayName default enabled label filename',
  4_096: 'email inbox replyTo description domain allowedDomains redirectUrl',
  65_536: 'title human ai autoReply question questionVariations',
};
const lengthMax = (path: string) => {
  const field = path.split('.').findLast((name) => !/^\d+$/.test(name)) ?? '';
  return Number(Object.keys(lengths).find((length) => lengths[Number(length)]?.split(' ').includes(field)));
};

test('no text but the content of a message and an answer is without a bound of its own', () => {
  const unbounded = texts.filter(({ faultAt }) => faultAt(1_000_000) === null);
  expect(unbounded.map(({ path }) => path)).toEqual(['data.content', 'data.answer']);
});

test.each(texts.filter(({ path }) => !['data.content', 'data.answer'].includes(path)))(
  '$label, $path: a text is accepted up to its bound, and refused beyond it with path, rule and bound',
  ({ path, faultAt }) => {
    const bound = lengthMax(path);
    expect(faultAt(bound)).toBeNull();
    const fault = `${path}: must have ${bound} characters or fewer`;
    expect(faultAt(bound + 1)).toBe(fault);
    // and a character that takes two UTF-16 units, and four bytes in the store, counts for two
    expect(faultAt(bound + 2, '😀')).toContain(fault);
  },
);

test.each(lists)(
  '$label, $path: a list is accepted up to its bound, and refused beyond it before its elements are looked at',
  ({ path, element, faultWith }) => {
    expect(faultWith(Array(1_000).fill(element))).toBeNull();
    expect(faultWith(Array(1_001).fill(element))).toBe(`${path}: must have 1000 items or fewer`);
    // given elements that are at fault themselves: each would be one more fault
    expect(faultWith(Array(1_000_000).fill(7))).toBe(`${path}: must have 1000 items or fewer`);
  },
);

test('a record beyond a bound is rejected, and its rejection names path, rule and bound', () => {
  const tagIds = Array<string>(110_000).fill('tag_1');
  const title = 'x'.repeat(65_537);
  expect(parse('ticket', withData('ticket', { ...examples.ticket, title, tagIds }))).toEqual({
    rejected: {
      reason: 'bad_data',
      detail: 'data.title: must have 65536 characters or fewer; data.tagIds: must have 1000 items or fewer',
    },
  });
});

test.each([undefined, null, 'tag_1', { length: 1, 0: 'tag_1' }])('%j is no list', (tagIds) => {
  expect(faultOf('ticket', { ...examples.ticket, tagIds })).toMatch(/^data\.tagIds: .*expected array/);
});
