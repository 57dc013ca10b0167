import { BSON } from 'mongodb';
import { itemsMax } from '../../../shared/documents/fields.ts';
import { examples, type Kind, states } from '../../../shared/documents/resources.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import {
  boundedFields,
  boundedLists,
  boundedTexts,
  lengthMax,
} from '../../../tests/support/bounded-fields.ts';
import { contentModes } from '../../../tests/support/content-modes.ts';
import type { Given } from '../../../tests/support/example-records.ts';
import { mebibyte } from '../../../tests/support/memory.ts';
import { recordFields } from '../dead-letters/dead-letter.ts';
import { parse } from './parse.ts';

type Outcome = 'applied' | 'rejected';

/** The outcome of an event in each content mode. A dead letter is made of each, as if it were rejected. */
function outcomes(kind: Kind, data: object, attributeChanges: Given = {}): Outcome[] {
  const records = Object.values(contentModes).map((inMode) =>
    inMode({ kind, data, changes: attributeChanges }),
  );
  const parsed = records.map((record) => parse(kind, record));
  const failed: string[] = [];
  for (const record of records)
    recordFields(topicOf(kind, 'support.'), 'support.', record, (step) => failed.push(step));
  expect(failed).toEqual([]);
  return parsed.map((result) => ('change' in result ? 'applied' : 'rejected'));
}

const inEach = (outcome: Outcome): Outcome[] => Object.keys(contentModes).map(() => outcome);

const stateBytesMax = 8 * mebibyte;
/** A state with a text that fills it up to this size in MongoDB. */
function stateOf(kind: 'message' | 'qa', field: 'content' | 'answer', bytes: number) {
  const state = { ...examples[kind], [field]: '' };
  const size = BSON.calculateObjectSize(states[kind].parse(state));
  return { ...state, [field]: 'x'.repeat(bytes - size) };
}

describe('in every content mode, an event', () => {
  const bounded = boundedTexts.flatMap((text) => {
    const max = lengthMax(text.path);
    return max === undefined ? [] : [{ ...text, max }];
  });
  test.each(bounded)(
    'of a $kind with the longest $path is applied, and with a longer one rejected',
    ({ kind, value, replace, max }) => {
      const dataOfLength = (length: number) => replace(String(value).padEnd(length, 'x')) as object;
      expect(outcomes(kind, dataOfLength(max))).toEqual(inEach('applied'));
      expect(outcomes(kind, dataOfLength(max + 1))).toEqual(inEach('rejected'));
    },
  );

  test.each([
    ['message', 'content'],
    ['qa', 'answer'],
  ] as const)(
    'of a %s whose %s fills its state is applied, and with one character more rejected',
    (kind, field) => {
      expect(outcomes(kind, stateOf(kind, field, stateBytesMax))).toEqual(inEach('applied'));
      expect(outcomes(kind, stateOf(kind, field, stateBytesMax + 1))).toEqual(inEach('rejected'));
    },
  );

  test.each(boundedLists)(
    'of a $kind with the longest $path is applied, and with a longer one rejected',
    ({ kind, value, replace }) => {
      const [element] = value as unknown[];
      const dataOfLength = (length: number) => replace(Array(length).fill(element)) as object;
      expect(outcomes(kind, dataOfLength(itemsMax))).toEqual(inEach('applied'));
      expect(outcomes(kind, dataOfLength(itemsMax + 1))).toEqual(inEach('rejected'));
    },
  );

  test.each(boundedFields.filter(({ value }) => typeof value === 'number'))(
    'of a $kind with any number in $path is applied only if the schema accepts it',
    ({ kind, replace, issueWith }) => {
      const largest = Number.MAX_SAFE_INTEGER;
      for (const number of [largest, largest + 1, -largest, 0, -1, 1, 3, 4, 5, 6, 0.5, Number.MAX_VALUE]) {
        const expected = issueWith(number) === null ? 'applied' : 'rejected';
        expect(outcomes(kind, replace(number) as object)).toEqual(inEach(expected));
      }
    },
  );

  const long = (prefix: string, length: number) => prefix.padEnd(length, 'x');
  test.each<[string, Given, Given]>([
    ['version', { entityversion: Number.MAX_SAFE_INTEGER }, { entityversion: Number.MAX_SAFE_INTEGER + 1 }],
    ['organization', { orgid: long('org_', 256) }, { orgid: long('org_', 257) }],
    ['time', { time: '9999-12-31T23:59:59.999999999Z' }, { time: '9999-12-31T23:59:59.999-00:01' }],
    ['first time', { time: '0000-01-01T00:00:00Z' }, { time: '0000-01-01T00:00:00+00:01' }],
  ])('with the last %s is applied, and with one beyond rejected', (_, last, beyond) => {
    expect(outcomes('tag', examples.tag, last)).toEqual(inEach('applied'));
    expect(outcomes('tag', examples.tag, beyond)).toEqual(inEach('rejected'));
  });
});

test('a record with any timestamp is parsed', () => {
  for (const timestampMs of [-1, -(2 ** 63), 2 ** 63, 8.64e15 + 1]) {
    for (const inMode of Object.values(contentModes)) {
      const record = inMode({ kind: 'tag', data: examples.tag, changes: { time: undefined } });
      const position = { ...record.position, timestampMs };
      expect(parse('tag', { ...record, position })).toHaveProperty('change');
      expect(parse('tag', { ...record, value: null, position })).toHaveProperty('change');
      expect(recordFields('support.tags', 'support.', { ...record, position })?.timestampMs).toBe(
        timestampMs,
      );
    }
  }
});
