import { createRequire } from 'node:module';
import { BSON, Long, ObjectId, Timestamp } from 'mongodb';
import { examples, kinds, states } from '../documents/resources.ts';
import { patchSerialize } from './write-bson.ts';

type Options = { checkKeys?: boolean; ignoreUndefined?: boolean };
const require = createRequire(import.meta.url);
const driver = require('mongodb/lib/bson') as {
  serialize: (document: object, options?: Options) => Uint8Array;
};

/** The published function: the namespace `BSON` is frozen. */
const { serialize } = BSON;
const published = jest.fn(serialize);
(createRequire(require.resolve('mongodb'))('bson') as { serialize: typeof serialize }).serialize = published;
patchSerialize();

class Point {
  readonly x = 1;
}

const deep = (levels: number): object => (levels === 0 ? {} : { inner: deep(levels - 1) });
const circle: { self?: object } = {};
circle.self = [{ circle }];

const values: Record<string, unknown> = {
  null: null,
  undefined: undefined,
  booleans: [true, false],
  integers: [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1],
  others: [-0, 0.5, NaN, Infinity, -Infinity, 1e300],
  dates: [new Date(0), new Date(-1), new Date(1e12 + 1), new Date(-1e12), new Date(8.64e15), new Date(NaN)],
  texts: ['', 'a', 'é', '語', '😀', '\0', '\uD800', 'x'.repeat(25), 'x'.repeat(26), 'é'.repeat(40)],
  'a list with holes': [undefined, , 1],
  'a long list': Array.from({ length: 1_234 }, (_, index) => index),
  'names of other characters': { é: 1, '': 2, 'a.b': 3, $set: { b: 4 }, 1: 5, 0: 6 },
  'own fields of a prototype': JSON.parse('{ "__proto__": { "a": 1 }, "constructor": 2 }') as unknown,
  'without a prototype': Object.assign(Object.create(null) as object, { a: 1 }),
  'of a class': new Point(),
  'with its own form': { toBSON: () => ({ a: 1 }) },
  functions: { a: () => 1, b: 2 },
  'types of the driver': [
    new ObjectId(),
    Long.fromNumber(2 ** 60),
    new Timestamp(1n),
    BSON.Double.fromString('1'),
  ],
  'other objects': [new Map([['a', { b: 1 }]]), /a.c/i, Buffer.from('bytes'), 10n],
  deep: deep(99),
  deeper: deep(150),
  large: 'x'.repeat(100_000),
  larger: { list: Array.from({ length: 10 }, () => 'é'.repeat(100_000)) },
  'of many small values': Array.from({ length: 100_000 }, () => true),
};

describe.each([{}, { ignoreUndefined: false }, { ignoreUndefined: true }, { checkKeys: true }])(
  'with %p',
  (options: Options) => {
    it.each(Object.keys(values))('writes the bytes that the published function writes: %s', (name) => {
      for (const document of [
        { value: values[name] },
        { before: 1, nested: [{ value: values[name] }], after: 'a' },
      ]) {
        const written = outcome(() => driver.serialize(document, options));
        expect(written).toEqual(outcome(() => serialize(document, options)));
      }
    });

    it.each(kinds)('writes a state of a %s', (kind) => {
      const state = states[kind].parse(examples[kind]);
      expect(Buffer.from(driver.serialize(state, options))).toEqual(Buffer.from(serialize(state, options)));
    });
  },
);

/** The bytes, or the message of the error. */
const outcome = (write: () => Uint8Array): unknown => {
  try {
    return Buffer.from(write()).toString('latin1');
  } catch (error) {
    return (error as Error).message;
  }
};

it.each([
  ['a circle', circle],
  ['a name with a NUL', { 'a\0b': 1 }],
  ['a list', [1]],
  ['a date', new Date()],
  ['a map', new Map([['a', 1]])],
])('treats %s as the published function does', (_name, document) => {
  expect(outcome(() => driver.serialize(document))).toEqual(outcome(() => serialize(document)));
});

it('documents that are written one after the other keep their bytes', () => {
  const [first, second] = [driver.serialize({ a: 'first' }), driver.serialize({ a: 'second' })];
  expect([first, second].map((bytes) => BSON.deserialize(bytes) as unknown)).toEqual([
    { a: 'first' },
    { a: 'second' },
  ]);
});

it('needs the published function only for other types', () => {
  published.mockClear();
  for (const kind of kinds) driver.serialize(states[kind].parse(examples[kind]));
  expect(published).not.toHaveBeenCalled();
});

it('documents of any size around the space are written alike', () => {
  const differing: number[] = [];
  for (let size = 256 * 1024 - 800; size < 256 * 1024 + 200; size += 7) {
    const document = { text: 'x'.repeat(size), deep: deep(99) };
    if (!Buffer.from(serialize(document)).equals(driver.serialize(document))) differing.push(size);
  }
  expect(differing).toEqual([]);
});
