import { randomBytes } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { deadLettersOf, ensureDeadLetterIndexes } from '../../services/projector/dead-letters/collection.ts';
import { eraseDeadLetters } from '../../services/projector/dead-letters/erase.ts';
import { deadLetterOf } from '../../services/projector/dead-letters/dead-letter.ts';
import { encode } from '../support/events.ts';
import { created } from '../support/entities.ts';

describe('the dead letters about a deleted entity', () => {
  let mongo: MongoClient;
  let control: Db;

  beforeAll(async () => {
    mongo = new MongoClient(process.env.MONGODB_URL ?? '');
    control = mongo.db(`t${randomBytes(5).toString('hex')}`);
    await ensureDeadLetterIndexes(control);
  }, 60_000);

  afterAll(async () => {
    await control.dropDatabase();
    await mongo.close();
  }, 60_000);

  /** The dead letter of a rejected version of a contact. */
  const deadLetter = (id: string, version: number) => {
    const { key, value, headers } = encode(created('contact', id, {}, version), 'structured');
    const position = { partition: 0, offset: version, timestampMs: 1_700_000_000_000 };
    const record = { key: Buffer.from(key), value: Buffer.from(value ?? ''), headers, position };
    const rejection = { reason: 'bad_data', detail: 'data.email: must be an object' } as const;
    return deadLetterOf({ prefix: 'support.', generation: 1, now: () => new Date() }, 'support.contacts', {
      record,
      rejection,
    });
  };

  test('are erased, whatever their number, and the others are kept', async () => {
    const deadLetters = Array.from({ length: 1_200 }, (_, index) => deadLetter('con_1', index + 1));
    const other = deadLetter('con_2', 2_000);
    await deadLettersOf(control).insertMany([...deadLetters, other]);
    const entity = { kind: 'contact', id: 'con_1' } as const;
    const covers = ({ versioned }: { versioned: { version: number } | null }) =>
      (versioned?.version ?? 0) <= 1_199;
    expect(await eraseDeadLetters({ control, prefix: 'support.' }, [{ ...entity, covers }])).toBe(1_199);
    const left = await deadLettersOf(control).find().sort({ offset: 1 }).toArray();
    expect(left.map(({ _id }) => _id)).toEqual(['support.contacts/0/1200', other._id]);
  }, 60_000);
});
