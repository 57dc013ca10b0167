import type { RejectedRecord } from '../../services/projector/dead-letters/dead-letter.ts';
import { eraseDeadLetters, eraseSince, findErasures } from '../../services/projector/dead-letters/erase.ts';
import { storeDeadLetters } from '../../services/projector/dead-letters/store-dead-letters.ts';
import type { Change } from '../../services/projector/events/change.ts';
import type { StoredEnvelope } from '../../services/projector/materialize/store.ts';
import {
  closeDeadLetters,
  ensureDeadLetterIndexes,
  ledgerOf,
  purgeDeadLetters,
} from '../../shared/control/ledger-store.ts';
import { recordBytesOf } from '../../shared/control/record-bytes.ts';
import { openDatabases } from '../support/databases.ts';
import { ampleShares, standingLetters } from '../support/dead-letters.ts';
import { recordOf, storedDocument } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import { useOpened } from '../support/use-opened.ts';

describe('dead letters about a deleted entity', () => {
  const opened = useOpened(openDatabases);
  beforeAll(() => ensureDeadLetterIndexes(opened.control));
  beforeEach(async () => {
    await ledgerOf(opened.control).deleteMany({});
    await recordBytesOf(opened.control).deleteMany({});
  });

  const rejectedVersion = (id: string, version: number): RejectedRecord => ({
    record: recordOf(created('contact', id, {}, version), version),
    rejection: { reason: 'bad_data', detail: 'data.emails[]: must be an object' },
  });
  const deps = (generation = 1) => ({
    control: opened.control,
    prefix: 'support.',
    generation,
    now: () => new Date(),
  });
  const store = (rejected: RejectedRecord[], topic = 'support.contacts', generation = 1) =>
    storeDeadLetters({ ...deps(generation), shares: ampleShares }, topic, rejected);

  test('are erased only up to the version that the deletion covers', async () => {
    const rejected = Array.from({ length: 1_200 }, (_, index) => rejectedVersion('con_1', index + 1));
    await store([...rejected, rejectedVersion('con_2', 2_000)]);
    const entity = { kind: 'contact', id: 'con_1' } as const;
    type Letter = { versioned: { version: number } | null };
    const covers = ({ versioned }: Letter) => versioned !== null && versioned.version <= 1_199;
    await eraseDeadLetters(deps(), [{ ...entity, covers }]);
    const remaining = await standingLetters(opened.control);
    expect(remaining.map(({ offset }) => offset)).toEqual([1_200, 2_000]);
    expect(await recordBytesOf(opened.control).countDocuments()).toBe(2);
  });

  const openFor = async () => (await standingLetters(opened.control)).map(({ generations }) => generations);
  const rejectedDeletion = (id: string): RejectedRecord => ({
    ...rejectedVersion(id, 3),
    record: recordOf({ kind: 'contact', id, orgId: 'org_1', version: 3, op: 'deleted', time: new Date() }, 3),
  });

  test('of a deletion stay open for a generation that lacks it, until that generation deletes the entity', async () => {
    const rejected = [rejectedDeletion('con_3')];
    const erasure = { kind: 'contact', id: 'con_3', covers: () => true } as const;
    await store(rejected, 'support.contacts', 1);
    await store(rejected, 'support.contacts', 2);
    await eraseDeadLetters(deps(1), [erasure]);
    await eraseDeadLetters(deps(1), [erasure]);
    expect(await openFor()).toEqual([[2]]);
    await eraseDeadLetters(deps(2), [erasure]);
    expect(await openFor()).toEqual([]);
    expect(await recordBytesOf(opened.control).countDocuments()).toBe(0);
  });

  test('of a deletion are stored for a generation that rejects it after another has deleted the entity', async () => {
    const rejected = [rejectedDeletion('con_4')];
    await store(rejected, 'support.contacts', 1);
    await eraseDeadLetters(deps(1), [{ kind: 'contact', id: 'con_4', covers: () => true }]);
    expect(await openFor()).toEqual([]);
    await store(rejected, 'support.contacts', 2);
    expect(await openFor()).toEqual([[2]]);
    expect(await recordBytesOf(opened.control).countDocuments()).toBe(1);
  });

  test('stay erased when another generation rejects their records', async () => {
    const rejected = [rejectedVersion('con_moved', 1)];
    await store(rejected);
    await eraseDeadLetters(deps(), [{ kind: 'contact', id: 'con_moved', covers: () => true }]);
    expect(await store(rejected, 'support.contacts', 2)).toEqual({ notPurged: [], withBytes: [] });
    expect(await recordBytesOf(opened.control).countDocuments({ subjects: 'con_moved' })).toBe(0);
  });

  test('are erased by a recheck between dead letters of a topic that is no longer read', async () => {
    await store([rejectedVersion('con_former', 1)], 'support.former');
    await store([rejectedVersion('con_gone', 1)]);
    await store([rejectedVersion('con_former', 3)], 'support.former');
    const readEnvelopes = async (_: string, ids: string[]) =>
      ids.map((_id) => ({ ...storedDocument({ id: _id }), deletedAt: new Date(0) }));
    const { signal } = new AbortController();
    await eraseSince(
      { ...deps(), store: { readEnvelopes }, signal, onProgress: () => undefined },
      new Date(0),
    );
    const left = await standingLetters(opened.control);
    expect(left.map(({ topic }) => topic)).toEqual(['support.former', 'support.former']);
  });

  test('lose bytes at a recheck that an interrupted purge or close has left', async () => {
    const rejected = [1, 2, 3].map((version) => rejectedVersion('con_left', version));
    await store(rejected);
    const bytes = await recordBytesOf(opened.control).find().sort({ offset: 1 }).toArray();
    const [purged = '', closed = '', kept = ''] = bytes.map(({ _id }) => _id);
    await purgeDeadLetters(opened.control, [purged], { by: 'ann', at: new Date() });
    await closeDeadLetters(opened.control, [closed], 1);
    await recordBytesOf(opened.control).insertMany(bytes.slice(0, 2));
    const readEnvelopes = async () => [];
    const { signal } = new AbortController();
    await eraseSince(
      { ...deps(), store: { readEnvelopes }, signal, onProgress: () => undefined },
      new Date(0),
    );
    const left = await recordBytesOf(opened.control).find().toArray();
    expect(left.map(({ _id }) => _id)).toEqual([kept]);
  });

  const position = (offset: number) => ({ partition: 0, offset, timestampMs: offset });
  const change = { id: 'con_9', orgId: 'org_1', time: new Date(), position: position(3) };
  /** The contact after its deletion at offset 3 and its creation at offset 4. */
  const recreated = { _id: 'con_9', orgId: 'org_1', version: 4, revision: 1, position: position(4) };
  test.each<{ op: string; deletion: Change; stored: StoredEnvelope }>([
    { op: 'deleted', deletion: { ...change, op: 'delete', version: 3 }, stored: recreated },
    {
      op: 'tombstone',
      deletion: { ...change, op: 'tombstone' },
      stored: { ...recreated, tombstonePosition: position(3) },
    },
  ])(
    'are erased by a $op record although the entity came back in the same batch',
    async ({ deletion, stored }) => {
      // The contact has a dead letter, is deleted and created again, and then has another dead letter.
      await store([rejectedVersion('con_9', 2), rejectedVersion('con_9', 5)]);
      const envelopes = { readEnvelopes: async () => [stored] };
      const erasures = await findErasures(envelopes, 'contact', { changes: [deletion], rejected: [] });
      await eraseDeadLetters(deps(), erasures);
      const left = await standingLetters(opened.control);
      expect(left.map(({ offset }) => offset)).toEqual([5]);
    },
  );
});
