import { type Collection, MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb';
import { isTransient } from '../../../shared/kafka/errors.ts';
import { storedDocument } from '../../../tests/support/engine.ts';
import { writeGuarded } from './mongo-write.ts';
import type { StoredDocument } from './store.ts';

/** The driver's error at the end of a bulk: the error of its command, or the errors of its writes. */
const bulkError = (error: unknown, writeConcernError: object | null = null) =>
  Reflect.construct(MongoBulkWriteError, [
    error,
    { getWriteConcernError: () => writeConcernError, upsertedIds: {} },
  ]) as Error;

/** The error of one write of a bulk. */
const writeError = (code: number, errmsg: string) => ({
  message: errmsg,
  code,
  writeErrors: [{ index: 0, code, errmsg }],
});

const duplicateKey = (index: string) =>
  `E11000 duplicate key error collection: hu_g1.tags index: ${index} dup key: { : "Ada" }`;
const duplicateKeyWithCollation = (index: string) =>
  `E11000 duplicate key error collection: hu_g1.tags index: ${index} collation: { locale: "en", strength: 2 } dup key: { : "0x2d" }`;

/**
 * Writes tags through a collection whose bulks end with an error if they contain the tag `big`. Returns their ids, too.
 */
function write(ids: string[], error: Error) {
  const bulks: string[] = [];
  const bulkWrite = async (operations: { insertOne: { document: { _id: string } } }[]) => {
    const written = operations.map(({ insertOne }) => insertOne.document._id);
    bulks.push(written.join());
    if (written.includes('big')) throw error;
    return { upsertedIds: {} };
  };
  const writes = ids.map((id) => ({ op: 'put' as const, guard: null, document: storedDocument({ id }) }));
  return {
    bulks,
    written: writeGuarded(
      { bulkWrite, namespace: 'hu_g1.tags' } as unknown as Collection<StoredDocument>,
      writes,
    ),
  };
}

describe('a bulk write', () => {
  test('is halved until the refused document is found', async () => {
    const tooLarge = bulkError(new MongoServerError({ message: 'too large', code: 10_334 }));
    const { bulks, written } = write(['a', 'big', 'c', 'd'], tooLarge);
    expect(await written).toEqual({
      conflicted: new Map(),
      refused: new Map([['big', 'hu_g1.tags: it is too large (code 10334)']]),
    });
    expect(bulks).toEqual(['a,big,c,d', 'a,big', 'a', 'big', 'c,d']);
  });

  test('is not halved after a lost connection', async () => {
    const { bulks, written } = write(['a', 'big'], bulkError(new MongoNetworkError('reset')));
    expect(isTransient(await written.catch((error: unknown) => error))).toBe(true);
    expect(bulks).toHaveLength(1);
  });

  test('without a majority fails even if it has a conflict', async () => {
    const conflict = writeError(11_000, duplicateKey('_id_'));
    const { written } = write(['big'], bulkError(conflict, { code: 64 }));
    const error: unknown = await written.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MongoBulkWriteError);
    expect(isTransient(error)).toBe(true);
    // With a majority, the same error is a conflict.
    const { conflicted } = await write(['big'], bulkError(conflict)).written;
    expect([...conflicted.keys()]).toEqual(['big']);
  });
});

describe('a write that does not apply', () => {
  const outcome = async (code: number, errmsg = '') => {
    const { conflicted, refused } = await write(['big'], bulkError(writeError(code, errmsg))).written;
    if (refused.has('big')) return ['refused', refused.get('big')];
    return ['conflicted', conflicted.get('big')];
  };
  const place = 'hu_g1.tags: ';

  test.each([
    ['MongoDB', duplicateKey('_id_')],
    ['MongoDB, in a collection with a collation', duplicateKeyWithCollation('_id_')],
    ['the stand-in', "Duplicate key violation on the requested collection: Index '_id_'"],
  ])('a write whose id is taken is a conflict (error text of %s)', async (_, errmsg) => {
    expect(await outcome(11_000, errmsg)).toEqual([
      'conflicted',
      `${place}its key is taken in the index _id_ (code 11000)`,
    ]);
  });

  test.each([
    ['MongoDB', duplicateKey('state.email.email_1')],
    ['MongoDB, in a collection with a collation', duplicateKeyWithCollation('state.email.email_1')],
    ['the stand-in', "Duplicate key violation on the requested collection: Index 'state.email.email_1'"],
  ])(
    'a write that violates another unique index is a refusal without values (error text of %s)',
    async (_, errmsg) => {
      expect(await outcome(11_000, errmsg)).toEqual([
        'refused',
        `${place}another document has the same key in the unique index state.email.email_1 (code 11000)`,
      ]);
    },
  );

  test('a write that was rolled back is a conflict', async () => {
    expect(await outcome(112)).toEqual(['conflicted', null]);
  });

  test.each([121, 171, 10_003, 16_755])(
    'a write that fails with code %i is a refusal that names the document',
    async (code) => {
      expect(await outcome(code, 'Document failed: "Ada"')).toEqual([
        'refused',
        expect.stringMatching(new RegExp(`^${place}[^"]*\\(code ${code}\\)$`)),
      ]);
    },
  );

  test('a write that fails with a code not about the document fails the batch', async () => {
    const error: unknown = await outcome(13, 'not authorized').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MongoBulkWriteError);
  });
});
