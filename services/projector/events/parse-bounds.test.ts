import { BSON } from 'mongodb';
import { itemsMax } from '../../../shared/documents/fields.ts';
import { type Kind, states } from '../../../shared/documents/resources.ts';
import { statesOf } from '../../../tests/served-fields/states.ts';
import { everyValue } from '../../../tests/support/every-value.ts';
import { attributes, record } from '../../../tests/support/example-records.ts';
import { examples, withData } from '../../../tests/support/example-states.ts';
import { jsonBytesMax, jsonValuesMax } from './bytes.ts';
import { describeIssues, describeOversize, parse } from './parse.ts';

/** Valid states with a value in every text and list, and in each variant of a block. */
const filled: { kind: Kind; state: object }[] = [
  { kind: 'apiKey', state: examples.apiKey },
  ...[0, 1, 2].flatMap((variant) => Object.values(statesOf(variant).states)),
];

const issueOf = (kind: Kind, state: unknown): string | null => {
  const { error } = states[kind].safeParse(state);
  return error ? describeIssues(error, 'data') : null;
};

const each = filled.flatMap(({ kind, state }) =>
  [...everyValue(state, 'data')].map(({ path, value, replace }) => {
    const issueWith = (other: unknown) => issueOf(kind, replace(other));
    const issueAt = (length: number, filler = 'x') => issueWith(String(value).padEnd(length, filler));
    return { kind, path, value, issueWith, issueAt };
  }),
);
const all = [...new Map(each.map((field) => [`${field.kind} ${field.path}`, field])).values()];
/** Free texts: no enumerated values, instants, colors or hashes. */
const texts = all.filter(({ value, issueWith }) => typeof value === 'string' && !issueWith(`${value}x`));
const lists = all.filter(({ value }) => Array.isArray(value));

/** The field names by the maximum length of their text; texts in a list count by the name of the list. */
const lengths: Record<number, string> = {
  256: 'id requesterId ticketId channelId contactId assignedUserId agentId conversationId routesToChannelId tagIds topicIds',
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
  expect(unbounded.map(({ path }) => path).sort()).toEqual(['data.answer', 'data.content']);
});

test.each(texts.filter(({ path }) => !['data.content', 'data.answer'].includes(path)))(
  '$kind, $path: a text is accepted up to its limit, and rejected beyond it with path, rule and limit',
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
  '$kind, $path: a list is accepted up to its limit, and rejected beyond it without checking its elements',
  ({ path, value, issueWith }) => {
    const [element] = value as unknown[];
    expect(issueWith(Array(1_000).fill(element))).toBeNull();
    expect(issueWith(Array(1_001).fill(element))).toBe(`${path}: must have 1000 items or fewer`);
    for (const other of [undefined, null, 'tag_1', { length: 1, 0: 'tag_1' }])
      expect(issueWith(other)).toContain(`${path}: Invalid input: expected array`);
    // given invalid elements, each of which would be one more issue
    expect(issueWith(Array(1_000_000).fill(7))).toBe(`${path}: must have 1000 items or fewer`);
  },
);

test.each(all)('$kind, $path: the rejection of another value never quotes it', ({ issueWith }) => {
  expect(issueWith('canary') ?? '').not.toContain('canary');
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
