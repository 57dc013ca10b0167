import { createRequire } from 'node:module';
import { BSON } from 'mongodb';
import { patchCursors, patchTexts } from './driver-patch.ts';

type Reply = { shift: (options?: BSON.DeserializeOptions & { raw?: boolean }) => unknown };
const require = createRequire(import.meta.url);
const { CursorResponse } = require('mongodb/lib/cmap/wire_protocol/responses') as {
  CursorResponse: { new (bytes: Uint8Array): Reply; prototype: Reply };
};

const { ByteUtils } = BSON.onDemand;
patchTexts();
const { shift: publishedShift } = CursorResponse.prototype;
patchCursors();

/** Texts of every length around the limit, in one, two, three and four bytes a character, several of each hash. */
const texts = ['', 'a', '\0', 'Ã©', 'é', '語', '😀', 'tagIds', '__proto__', 'a\u0080b', 'ÿ', '\uFFFD'];
for (let length = 1; length <= 22; length += 1)
  for (const unit of ['x', 'é', '語', '\uFFFD']) texts.push(unit.repeat(length));
for (let index = 0; index < 10_000; index += 1) texts.push(`id_${index}`);

it('a text that was read before, or one of its hash, is read as the driver reads it', () => {
  const differing = texts.concat(texts).filter((text) => {
    const bytes = Buffer.from(`before${text}after`);
    const end = bytes.length - 'after'.length;
    return ByteUtils.toUTF8(bytes, 'before'.length, end, true) !== text;
  });
  expect(differing).toEqual([]);
});

it('a document is read as before', () => {
  const document = { _id: 'ti_1', state: { title: 'Ünlü', tagIds: ['tag_1', 'tag_1'] }, tag_1: null };
  const bytes = BSON.serialize(document);
  expect(BSON.deserialize(bytes)).toEqual(document);
  expect(BSON.deserialize(bytes)).toEqual(document);
});

it.each(['ti_1', 'a text of more than twenty bytes'])(
  'bytes that are no text are refused each time: %s',
  (text) => {
    const bytes = BSON.serialize({ _id: 'first', text });
    bytes[Buffer.from(bytes).indexOf(text)] = 0xff;
    for (let attempt = 0; attempt < 2; attempt += 1)
      expect(() => BSON.deserialize(bytes)).toThrow('Invalid UTF-8 string');
  },
);

it('a short text is read once, however often it comes', () => {
  const { toUTF8 } = ByteUtils;
  const published = jest.fn(toUTF8);
  ByteUtils.toUTF8 = published;
  patchTexts();
  const bytes = Buffer.from('requesterId');
  for (let count = 0; count < 3; count += 1) ByteUtils.toUTF8(bytes, 0, bytes.length, false);
  ByteUtils.toUTF8 = toUTF8;
  expect(published).toHaveBeenCalledTimes(1);
});

/** Reads a reply to its end. */
function documentsOf(bytes: Uint8Array, shift: Reply['shift'], options: Parameters<Reply['shift']>[0]) {
  const reply = new CursorResponse(bytes);
  const documents: unknown[] = [];
  for (let next = shift.call(reply, options); next !== null; next = shift.call(reply, options))
    documents.push(next);
  return documents;
}

it.each([
  ['documents', undefined],
  ['64 bits as bigint', { useBigInt64: true, validation: { utf8: true } }],
  ['bytes', { raw: true }],
])('a reply gives the documents that the driver gives: %s', (_of, options) => {
  const batch = [{ _id: 'a', at: new Date(1), count: 2 ** 40, list: [{ b: 1 }] }, {}, { _id: 'é' }];
  for (const name of ['firstBatch', 'nextBatch']) {
    const bytes = BSON.serialize({ cursor: { id: 0n, ns: 'db.tickets', [name]: batch }, ok: 1 });
    const published = documentsOf(bytes, publishedShift, options);
    expect(published).toHaveLength(3);
    expect(documentsOf(bytes, CursorResponse.prototype.shift, options)).toEqual(published);
  }
});

it('a batch that holds another value than a document is refused', () => {
  const reply = new CursorResponse(BSON.serialize({ cursor: { id: 0n, ns: 'a.b', firstBatch: [1] }, ok: 1 }));
  expect(() => reply.shift()).toThrow('is missing');
});
