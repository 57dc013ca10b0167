import { BSON } from 'mongodb';
import type { Document } from '../../shared/documents/entity.ts';
import {
  idLengthMax,
  itemsMax,
  longTextLengthMax,
  nameLengthMax,
  shortTextLengthMax,
} from '../../shared/documents/fields.ts';
import { examples, type Kind, resources, states } from '../../shared/documents/resources.ts';
import { embeddedConversationsMax } from '../../shared/documents/ticket.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { boundedLists, boundedTexts, lengthMax } from '../support/bounded-fields.ts';
import { exampleJoin, living } from '../support/example-join.ts';
import { mebibyte } from '../support/memory.ts';
import { createRandom } from '../support/random.ts';
import { useEngineStore } from './engine-store.ts';

const documentBytesMax = 16 * mebibyte;
/** The space for the fields that the engine adds: cursor, positions and marks. */
const engineBytes = 64 * 1024;

/** A text of ideographs, which take three bytes each: the maximum for one UTF-16 unit. */
const textOf = (length: number) => '漢'.repeat(length);
const [name, shortText, title] = [nameLengthMax, shortTextLengthMax, longTextLengthMax].map(textOf);

/** Ids are index keys. Random ideographs keep an index from compressing them. */
const random = createRandom(1);
const ideograph = () => String.fromCharCode(0x4e00 + random.int(0x5000));
const idOf = (prefix: string, index = 0) => {
  const unique = `${prefix}${String(index).padStart(4, '0')}`;
  return unique + Array.from({ length: idLengthMax - unique.length }, ideograph).join('');
};
const idsOf = (prefix: string, length = itemsMax) =>
  Array.from({ length }, (_, index) => idOf(prefix, index));

const ticketId = idOf('ti_');
const contactId = idOf('con_');
const assignedUserId = idOf('user_');
const tagIds = idsOf('tag_');
const topicIds = idsOf('topic_');
const channelIds = idsOf('chan_', embeddedConversationsMax);
/** The entities to which the documents refer, with every text at its bound. */
const referenced = exampleJoin(
  living('contact', { id: contactId, name, email: { email: shortText, verified: true } }),
  living('user', { id: assignedUserId, name, email: shortText }),
  ...tagIds.map((id) => living('tag', { id, name })),
  ...topicIds.map((id) => living('topic', { id, name, color: '#0088ff' })),
  ...channelIds.map((id) => living('channel', { id, name, dataRetentionDays: 30 })),
  ...channelIds.map((channelId, index) =>
    living('conversation', { id: idOf('conv_', index), ticketId, channelId }),
  ),
);

type Stored = Document<unknown, unknown>;

/** The document that the engine stores for a state with these changes. Throws if the parser refuses the state. */
function documentOf(kind: Kind, changes: Record<string, unknown>): Stored {
  const state = states[kind].parse({ ...examples[kind], ...changes });
  const { joined, refs } = referenced.whenJoined(kind, changes);
  const position = { partition: 1, offset: Number.MAX_SAFE_INTEGER, timestampMs: Number.MAX_SAFE_INTEGER };
  const makeSortKeys = resources[kind].sortKeys as (sorted: typeof state) => object;
  const sortKeys = makeSortKeys(state);
  const envelope = {
    orgId: idOf('org_'),
    version: Number.MAX_SAFE_INTEGER,
    revision: Number.MAX_SAFE_INTEGER,
    position,
    tombstonePosition: position,
  };
  return { _id: state.id, ...envelope, ...sortKeys, state, joined, refs };
}

const labels = { tagIds, topicIds };
const conversation = { ticketId, channelId: channelIds[0], contactId, assignedUserId, title, ...labels };
const attachments = idsOf('att_').map((id) => ({ id, filename: name, inline: true }));
const message = { author: { type: 'contact', id: contactId }, conversationId: idOf('conv_'), attachments };
/** The content and the attachments of a message share 8 MiB. */
const contentLength =
  8 * mebibyte - BSON.calculateObjectSize(states.message.parse({ ...examples.message, ...message }));

/** A ticket and a conversation take about 11 MiB, most of it for the ids and names of 2,000 tags and topics. */
const largest: [Kind, Stored][] = [
  ['ticket', documentOf('ticket', { id: ticketId, requesterId: contactId, title, ...labels })],
  ['conversation', documentOf('conversation', { id: idOf('conv_'), ...conversation })],
  ['message', documentOf('message', { id: idOf('msg_'), ...message, content: 'x'.repeat(contentLength) })],
];

/** The value at a path of a state, such as `data.author.name`. Undefined if the state has no such path. */
const valueAt = (state: unknown, path: string): unknown =>
  path
    .split('.')
    .slice(1)
    .reduce<unknown>((value, field) => (value as Record<string, unknown> | null)?.[field], state);

test.each(largest)(
  'each text and each list of the state of the largest %s is at its limit',
  (kind, { state }) => {
    const ofKind = (field: { kind: Kind }) => field.kind === kind;
    const texts = boundedTexts.filter(ofKind).map(({ path }) => ({ path, limit: lengthMax(path) }));
    const lists = boundedLists.filter(ofKind).map(({ path }) => ({ path, limit: itemsMax }));
    const limited = [...texts.filter(({ limit }) => limit !== undefined), ...lists];
    const lengths = limited.map(({ path }) => {
      return { path, limit: (valueAt(state, path) as string | unknown[] | null)?.length };
    });
    expect(lengths).toEqual(limited);
  },
);

describe('the store takes the largest document that the limits of lists and texts allow', () => {
  const opened = useEngineStore();

  test.each(largest)('MongoDB inserts and replaces a %s with its index entries', async (kind, document) => {
    const bytes = BSON.calculateObjectSize(document);
    expect(bytes).toBeGreaterThan(documentBytesMax / 2);
    expect(bytes + engineBytes).toBeLessThan(documentBytesMax);
    const collection = collectionOf<Stored>(opened.database, kind);
    await collection.insertOne(document);
    const { _id, revision, ...remaining } = document;
    const filter = { _id, revision };
    const replacement = { ...remaining, revision: 1 };
    const { modifiedCount } = await collection.bulkWrite([
      { replaceOne: { filter, replacement, upsert: true } },
    ]);
    expect(modifiedCount).toBe(1);
    // then the index of references has an entry for the last reference
    const lastRef = document.refs.at(-1) ?? '';
    const dependents = await collection
      .find({ refs: { $in: [lastRef] }, orgId: document.orgId }, { projection: { _id: 1 } })
      .toArray();
    expect(dependents).toEqual([{ _id }]);
  });
});
