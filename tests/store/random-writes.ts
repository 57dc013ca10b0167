import type { JoinedFields, StoredDocument, Write } from '../../services/projector/materialize/store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { type Data, envelopeOf } from '../simulation/memory-store.ts';
import { storedDocument } from '../support/engine.ts';
import type { Random } from '../support/random.ts';

/** Random documents and writes from so few values that they often meet each other. */

export const usedKinds = ['channel', 'conversation', 'message'] as const;
export const randomId = (random: Random, kind: string) => `${kind}_${random.int(4)}`;
export const randomIds = (random: Random, kind: string) => {
  const ids = Array.from({ length: 1 + random.int(8) }, () => randomId(random, kind));
  return [...new Set(ids)];
};
export const randomOrgId = (random: Random) => (random.chance(0.8) ? 'org_1' : 'org_2');
export const randomDate = (random: Random) => new Date(random.int(5) * 1_000);
export const randomPosition = (random: Random) => ({ partition: 0, offset: random.int(9), timestampMs: 1 });
export const randomRef = (random: Random) =>
  random.pick(['channel:channel_1', 'channel:channel_2', 'tags:channel_1']);
const maybe = <T extends object>(random: Random, fields: T) => (random.chance(0.5) ? fields : {});

/** A random document of the engine or the sweep: living, deleted, or purged with or without its references. */
function randomDocument(random: Random, kind: Kind, _id: string, revision: number): StoredDocument {
  const createdAt = randomDate(random);
  const dataRetentionDays = random.pick([null, 0, 3]);
  const refs = [randomRef(random), `contact:${randomId(random, 'con')}`];
  const state = {
    id: _id,
    title: 'Broken',
    createdAt,
    updatedAt: randomDate(random),
    ...ownFields(random, kind, dataRetentionDays),
  };
  const living = storedDocument(state, {
    orgId: randomOrgId(random),
    version: random.int(2),
    revision,
    position: randomPosition(random),
    refs,
    byCreated: createdAt.toISOString() + _id,
    ...maybe(random, { fanOutCursor: { from: 'ticket', edge: 'conversations', after: 'ti_5' } }),
    ...maybe(random, { tombstonePosition: randomPosition(random) }),
    ...maybe(random, { pending: true }),
    ...maybe(random, { orphanedAt: randomDate(random) }),
  });
  const envelope = { ...envelopeOf(living), expiresAt: new Date('2100-01-01') };
  const deleted = {
    ...envelope,
    deletedAt: randomDate(random),
    ...(dataRetentionDays && { dataRetentionDays }),
  };
  const purged = { ...envelope, ...maybe(random, { refs }) };
  return random.pick([living, living, living, deleted, purged]);
}

/** The fields of a state that only its kind has. */
function ownFields(random: Random, kind: Kind, dataRetentionDays: number | null): object {
  if (kind === 'channel') return { dataRetentionDays };
  if (kind === 'message') return { conversationId: randomId(random, 'conversation') };
  return { ticketId: randomId(random, 'ti'), channelId: randomId(random, 'channel') };
}

/** A random write with the stored revision as its guard, or with a different one. */
export function randomWrite(random: Random, data: Data, kind: Kind, _id: string): Write {
  const stored = data.get(kind)?.get(_id);
  const guard = random.chance(0.7) ? (stored?.revision ?? null) : random.pick([null, 1, 7]);
  const document = randomDocument(random, kind, _id, (guard ?? 0) + 1);
  if (guard === null || !stored?.state || random.chance(0.5)) return { op: 'put', document, guard };
  return { op: 'join', document: randomJoin(random, kind, document), guard };
}

/** A join with the references, the marks and the tombstone of a document. */
function randomJoin(random: Random, kind: Kind, document: StoredDocument): JoinedFields {
  const { _id, revision, refs = [], pending, orphanedAt, tombstonePosition } = document;
  const position = randomPosition(random);
  // A join may meet no document: a fail-over has rolled the document back, or an operator has dropped its generation.
  const metId = random.chance(0.9) ? _id : `${kind}_gone`;
  const fields: JoinedFields = { _id: metId, revision, refs, position, joined: { channel: null } };
  if (pending) fields.pending = pending;
  if (orphanedAt) fields.orphanedAt = orphanedAt;
  if (tombstonePosition) fields.tombstonePosition = tombstonePosition;
  return fields;
}
