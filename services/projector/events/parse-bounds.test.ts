import { BSON } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { itemsMax } from '../../../shared/documents/fields.ts';
import { states } from '../../../shared/documents/resources.ts';
import { chatbotBlock, formBlock } from '../../../tests/support/entities.ts';
import { attributes, record } from '../../../tests/support/example-records.ts';
import { examples, withData } from '../../../tests/support/example-states.ts';
import { jsonBytesMax, jsonValuesMax } from './bytes.ts';
import { describeIssues, describeOversize, parse } from './parse.ts';

const attachment = { id: 'att_1', filename: 'a.txt', inline: false };
const form = {
  ...formBlock,
  description: 'us',
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

/** Valid states with a value in every text and list. */
const channel = { ...examples.channel, settings: { ...(examples.channel.settings as object), utmTagging } };
const filled: [string, Kind, object][] = [
  ['apiKey', 'apiKey', examples.apiKey],
  ['contact', 'contact', { ...examples.contact, name: 'Ada' }],
  ['user', 'user', { ...examples.user, name: 'Grace' }],
  ['agent', 'agent', examples.agent],
  ['tag', 'tag', examples.tag],
  ['topic', 'topic', examples.topic],
  ['channel (email)', 'channel', { ...channel, email }],
  ['channel (chatbot)', 'channel', { ...channel, type: 'chatbot', email: null, chatbot: chatbotBlock }],
  ['channel (form)', 'channel', { ...channel, type: 'form', email: null, form }],
  ['ticket', 'ticket', { ...examples.ticket, tagIds: ['t'], topicIds: ['t'] }],
  ['conversation', 'conversation', { ...examples.conversation, tagIds: ['t'], topicIds: ['t'] }],
  ['message', 'message', { ...examples.message, content: 'Hello', attachments: [attachment] }],
  ['qa', 'qa', { ...examples.qa, questionVariations: ['How?'] }],
];

type Field = { path: string; value: unknown; replace: (other: unknown) => unknown };

/** Every text and list in a value. `replace` returns the whole value with another value in that field. */
function* fields(
  value: unknown,
  path: string,
  replace: Field['replace'] = (other) => other,
): Generator<Field> {
  if (typeof value === 'string' || Array.isArray(value)) yield { path, value, replace };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of Object.entries(value)) {
    const inside = (other: unknown) =>
      replace(Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other });
    yield* fields(field, `${path}.${name}`, inside);
  }
}

const issueOf = (kind: Kind, state: unknown): string | null => {
  const { error } = states[kind].safeParse(state);
  return error ? describeIssues(error, 'data') : null;
};

const all = filled.flatMap(([label, kind, state]) =>
  [...fields(state, 'data')].map(({ path, value, replace }) => {
    const issueWith = (other: unknown) => issueOf(kind, replace(other));
    const issueAt = (length: number, filler = 'x') => issueWith(String(value).padEnd(length, filler));
    return { label, path, value, issueWith, issueAt };
  }),
);
/** Free texts: no enumerated values, instants, colors or hashes. */
const texts = all.filter(({ value, issueWith }) => typeof value === 'string' && !issueWith(`${value}x`));
const lists = all.filter(({ value }) => Array.isArray(value));

/** The field names by the maximum length of their text; texts in a list count by the name of the list. */
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

test('only the content of a message and an answer have no length limit', () => {
  const unbounded = texts.filter(({ issueAt }) => issueAt(1_000_000) === null);
  expect(unbounded.map(({ path }) => path)).toEqual(['data.content', 'data.answer']);
});

test.each(texts.filter(({ path }) => !['data.content', 'data.answer'].includes(path)))(
  '$label, $path: a text is accepted up to its limit, and rejected beyond it with path, rule and limit',
  ({ path, issueAt }) => {
    const bound = lengthMax(path);
    expect(issueAt(bound)).toBeNull();
    const issue = `${path}: must have ${bound} characters or fewer`;
    expect(issueAt(bound + 1)).toBe(issue);
    // and a character of two UTF-16 units, which takes four bytes, counts twice
    expect(issueAt(bound + 2, '😀')).toContain(issue);
  },
);

test.each(lists)(
  '$label, $path: a list is accepted up to its limit, and rejected beyond it without checking its elements',
  ({ path, value, issueWith }) => {
    const [element] = value as unknown[];
    expect(issueWith(Array(1_000).fill(element))).toBeNull();
    expect(issueWith(Array(1_001).fill(element))).toBe(`${path}: must have 1000 items or fewer`);
    // given invalid elements, each of which would be one more issue
    expect(issueWith(Array(1_000_000).fill(7))).toBe(`${path}: must have 1000 items or fewer`);
  },
);

test.each([undefined, null, 'tag_1', { length: 1, 0: 'tag_1' }])('%j is not a list', (tagIds) => {
  expect(issueOf('ticket', { ...examples.ticket, tagIds })).toMatch(/^data\.tagIds: .*expected array/);
});

const megabyte = 1024 * 1024;
const answer = (megabytes: number) =>
  parse('qa', withData('qa', { ...examples.qa, answer: 'x'.repeat(megabytes * megabyte) }));

test('a state that is too large for a document is rejected with its size', () => {
  expect(answer(8.1)).toEqual({
    rejected: { reason: 'too_large', detail: expect.stringMatching(/^data: takes \d{7,} bytes/) as string },
  });
});

test('a state of several megabytes that fits a document is accepted', () => {
  expect(answer(7.9)).toHaveProperty('change');
});

test('no state of a record below the measured size is too large', () => {
  // given the list that grows most in BSON, at its maximum length, and a text that fills the record
  const attachments = Array.from({ length: itemsMax }, (_, index) => ({
    id: String(index),
    filename: '',
    inline: true,
  }));
  const state = { attachments, content: 'x'.repeat(megabyte - JSON.stringify(attachments).length) };
  expect(JSON.stringify(state).length).toBeGreaterThan(megabyte);
  // then it is accepted because of its measured size
  expect(describeOversize(Infinity, state)).toBeNull();
  expect(BSON.calculateObjectSize(state)).toBeLessThan(1.1 * megabyte);
});

describe('a value that takes much memory', () => {
  const structured = (value: string | Buffer) => parse('tag', record(Buffer.from(value)));
  const dataWith = (history: string) => `{"id":"tag_1","name":"A","history":${history}}`;
  const withHistory = (history: string) =>
    JSON.stringify(attributes).replace(/}$/, `,"data":${dataWith(history)}}`);
  const values = (count: number) => `[${'{},'.repeat(count / 2)}{}]`;

  it('is rejected before it is parsed, because of its size or of the number of its values', () => {
    const rejected = {
      rejected: { reason: 'too_large', detail: expect.stringContaining('value: ') as string },
    };
    // No JSON: only the size can be the reason.
    expect(structured(Buffer.alloc(jsonBytesMax + 1))).toMatchObject(rejected);
    expect(structured(Buffer.alloc(jsonBytesMax))).toMatchObject({ rejected: { reason: 'not_json' } });
    expect(structured(withHistory(values(jsonValuesMax)))).toMatchObject(rejected);
    expect(structured(withHistory(values(jsonValuesMax - 100)))).toHaveProperty('change');
  });

  it('is judged in base64, too', () => {
    const data_base64 = Buffer.from(dataWith(values(jsonValuesMax))).toString('base64');
    expect(structured(JSON.stringify({ ...attributes, data_base64 }))).toMatchObject({
      rejected: { reason: 'too_large', detail: expect.stringContaining('data: ') as string },
    });
  });

  it('may be a long text of commas, brackets and quotes', () => {
    const text = JSON.stringify('",[{\\'.repeat(jsonValuesMax));
    expect(structured(withHistory(text))).toHaveProperty('change');
  });
});
