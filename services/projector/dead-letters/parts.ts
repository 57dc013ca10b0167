import { Binary, type Db } from 'mongodb';
import { deadLettersOf, letterPartsOf, type DeadLetter } from './dead-letters.ts';

/**
 * A document of the store holds 16 MB, and a topic may be configured for larger records. A letter above
 * `inlineBytesMax` keeps headers, value and a key that is long itself in parts; the letter is written last, so
 * that none is there without its parts.
 */
const inlineBytesMax = 8 * 1024 * 1024;
const partBytes = 8 * 1024 * 1024;
const inlineKeyBytesMax = 64 * 1024;

type Packed = { key: string | null; value: string | null; headers: { name: string; value: string | null }[] };

const partId = (id: string, index: number) => `${id}#${index}`;
const partIds = ({ _id, parts }: { _id: string; parts: number }) =>
  Array.from({ length: parts }, (_, index) => partId(_id, index));

/** Writes what does not fit into the letter, and gives the letter as it is to be written. */
export async function writeParts(control: Db, letter: DeadLetter): Promise<DeadLetter> {
  if (letter.bytes <= inlineBytesMax) return letter;
  const packed = pack(letter);
  let parts = 0;
  for (let start = 0; start < packed.length; start += partBytes) {
    const bytes = new Binary(packed.subarray(start, start + partBytes));
    const filter = { _id: partId(letter._id, parts) };
    await letterPartsOf(control).replaceOne(filter, { bytes }, { upsert: true });
    parts += 1;
  }
  const key = letter.key && letter.key.position > inlineKeyBytesMax ? null : letter.key;
  return { ...letter, key, value: null, headers: [], parts };
}

/** The letter with all that belongs to it; null where a removal that was broken off has taken its parts. */
export async function readParts(control: Db, letter: DeadLetter): Promise<DeadLetter | null> {
  if (letter.parts === 0) return letter;
  const pieces: Buffer[] = [];
  for (const _id of partIds(letter)) {
    const part = await letterPartsOf(control).findOne({ _id });
    if (!part) return null;
    pieces.push(Buffer.from(part.bytes.value()));
  }
  return { ...letter, ...unpack(Buffer.concat(pieces)) };
}

/** Removes letters, their parts first: no bytes are left behind whatever happens in between. */
export async function removeLetters(control: Db, letters: { _id: string; parts: number }[]): Promise<number> {
  if (letters.length === 0) return 0;
  const parts = letters.flatMap(partIds);
  if (parts.length > 0) await letterPartsOf(control).deleteMany({ _id: { $in: parts } });
  const removed = await deadLettersOf(control).deleteMany({ _id: { $in: letters.map(({ _id }) => _id) } });
  return removed.deletedCount;
}

const encode = (bytes: Binary | null) => bytes && Buffer.from(bytes.value()).toString('base64');
const decode = (text: string | null) => (text === null ? null : new Binary(Buffer.from(text, 'base64')));

function pack({ key, value, headers }: DeadLetter): Buffer {
  const packed: Packed = {
    key: encode(key),
    value: encode(value),
    headers: headers.map((header) => ({ name: header.name, value: encode(header.value) })),
  };
  return Buffer.from(JSON.stringify(packed));
}

function unpack(bytes: Buffer): Pick<DeadLetter, 'key' | 'value' | 'headers'> {
  const { key, value, headers } = JSON.parse(bytes.toString()) as Packed;
  return {
    key: decode(key),
    value: decode(value),
    headers: headers.map((header) => ({ name: header.name, value: decode(header.value) })),
  };
}
