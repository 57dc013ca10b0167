import { MongoBulkWriteError, MongoNetworkError, MongoServerError, type Collection } from 'mongodb';
import { storedDocument } from '../../../tests/support/engine.ts';
import { isTransient } from '../../../shared/kafka/transient-errors.ts';
import { writeGuarded } from './mongo-write.ts';
import type { StoredDocument } from './store.ts';

/** The driver's error at the end of a bulk: the error of its command, or the errors of its writes. */
const bulkError = (error: unknown, writeConcernError: object | null = null) =>
  Reflect.construct(MongoBulkWriteError, [error, { getWriteConcernError: () => writeConcernError }]) as Error;

/** Writes tags through a collection whose bulks end with an error if they hold the tag `big`. Returns their ids, too. */
function write(ids: string[], error: Error) {
  const bulks: string[] = [];
  const bulkWrite = async (operations: { insertOne: { document: { _id: string } } }[]) => {
    const written = operations.map(({ insertOne }) => insertOne.document._id);
    bulks.push(written.join());
    if (written.includes('big')) throw error;
  };
  const writes = ids.map((id) => ({ op: 'put' as const, guard: null, document: storedDocument({ id }) }));
  return { bulks, written: writeGuarded({ bulkWrite } as unknown as Collection<StoredDocument>, writes) };
}

describe('a bulk write', () => {
  it('that the store refuses as a whole is halved until the document is found', async () => {
    const tooLarge = bulkError(new MongoServerError({ message: 'too large', code: 10_334 }));
    const { bulks, written } = write(['a', 'big', 'c', 'd'], tooLarge);
    expect(await written).toEqual({
      conflicted: new Set(),
      refused: new Map([['big', 'code 10334: too large']]),
    });
    expect(bulks).toEqual(['a,big,c,d', 'a,big', 'a', 'big', 'c,d']);
  });

  it('whose connection is lost is transient, and is not halved', async () => {
    const { bulks, written } = write(['a', 'big'], bulkError(new MongoNetworkError('reset')));
    expect(isTransient(await written.catch((error: unknown) => error))).toBe(true);
    expect(bulks).toHaveLength(1);
  });

  it('with a conflict and without a majority does not count as durable', async () => {
    const conflict = { message: 'E11000', code: 11_000, writeErrors: [{ index: 0, code: 11_000 }] };
    const { written } = write(['big'], bulkError(conflict, { code: 64 }));
    const error: unknown = await written.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MongoBulkWriteError);
    expect(isTransient(error)).toBe(true);
    // and without the missed majority it is a conflict
    expect(await write(['big'], bulkError(conflict)).written).toMatchObject({ conflicted: new Set(['big']) });
  });
});
