import { BSON } from 'mongodb';
import { patchTexts } from './driver-patch.ts';

const { ByteUtils } = BSON.onDemand;
patchTexts();

/** Texts of every length around the limit, in one, two, three and four bytes a character, several of each hash. */
const texts = ['', 'a', '\0', 'Ã©', 'é', '語', '😀', 'tagIds', '__proto__', 'a\u0080b', 'ÿ', '\uFFFD'];
for (let length = 1; length <= 22; length += 1) {
  for (const unit of ['x', 'é', '語', '\uFFFD']) texts.push(unit.repeat(length));
}
for (let index = 0; index < 10_000; index += 1) texts.push(`id_${index}`);

test('a text that was read before, or one of its hash, is read as the driver reads it', () => {
  const differing = texts.concat(texts).filter((text) => {
    const bytes = Buffer.from(`before${text}after`);
    const end = bytes.length - 'after'.length;
    return ByteUtils.toUTF8(bytes, 'before'.length, end, true) !== text;
  });
  expect(differing).toEqual([]);
});

test('a document is read as before', () => {
  const document = { _id: 'ti_1', state: { title: 'Ünlü', tagIds: ['tag_1', 'tag_1'] }, tag_1: null };
  const bytes = BSON.serialize(document);
  expect(BSON.deserialize(bytes)).toEqual(document);
  expect(BSON.deserialize(bytes)).toEqual(document);
});

test.each(['ti_1', 'a text of more than twenty bytes'])(
  'bytes that are not UTF-8 are refused each time: %s',
  (text) => {
    const bytes = BSON.serialize({ _id: 'first', text });
    bytes[Buffer.from(bytes).indexOf(text)] = 0xff;
    for (let attempt = 0; attempt < 2; attempt += 1)
      expect(() => BSON.deserialize(bytes)).toThrow('Invalid UTF-8 string');
  },
);

test('a short text is read once, however often it comes', () => {
  const { toUTF8 } = ByteUtils;
  const published = jest.fn(toUTF8);
  ByteUtils.toUTF8 = published;
  patchTexts();
  const bytes = Buffer.from('requesterId');
  for (let count = 0; count < 3; count += 1) ByteUtils.toUTF8(bytes, 0, bytes.length, false);
  ByteUtils.toUTF8 = toUTF8;
  expect(published).toHaveBeenCalledTimes(1);
});
