import { BSON, type Document } from 'mongodb';
import { type Kind, resources } from '../../../shared/documents/resources.ts';
import type { ReplySize } from './expected-bytes.ts';
import { createGather } from './gather.ts';
import { readData } from './read-data.ts';
import { readReply } from './read-reply.ts';
import type { DataSnapshot } from './read-snapshot.ts';

type WantedDocument = { orgId: string; id: string };
type OwnedDocument = Document & { orgId: string };
/** At most one document. */
type DocumentReply = ReplySize & { documents: OwnedDocument[] };

/** The kind of a document, and its fields to read. */
export type DocumentShape = { kind: Kind; projection: Document };

const notFound: DocumentReply = { documents: [], replyItems: 0, replyBytes: 0 };

/**
 * Creates the function that finds a document of an organization by its id. Requests of any organization share a query
 * if they read the same shape. Requests for the same document share its object.
 */
export function createDocumentFinder() {
  const gather = createGather<WantedDocument, DocumentReply>();
  return (snapshot: DataSnapshot, shape: DocumentShape, wanted: WantedDocument): Promise<DocumentReply> =>
    gather(
      // The names of kinds and fields have no spaces or commas, so no two shapes have the same name.
      { snapshot, name: `${shape.kind} ${Object.keys(shape.projection).join()}` },
      wanted,
      async (wantedOfAll) => {
        const documents = await readDocuments(snapshot, shape, wantedOfAll);
        return {
          find: ({ orgId, id }) => {
            // The shared query matches the organizations of all its requests, so this checks that of one request.
            const reply = documents.get(id);
            return reply?.documents[0]?.orgId === orgId ? reply : notFound;
          },
        };
      },
    );
}

async function readDocuments(
  snapshot: DataSnapshot,
  { kind, projection }: DocumentShape,
  wanted: WantedDocument[],
): Promise<Map<string, DocumentReply>> {
  const command = {
    find: resources[kind].collection,
    filter: {
      _id: { $in: [...new Set(wanted.map(({ id }) => id))] },
      orgId: { $in: [...new Set(wanted.map(({ orgId }) => orgId))] },
    },
    projection: { ...projection, orgId: 1 },
    hint: '_id_',
  };
  const { raws, mayBeCut } = await readData(snapshot, (options) =>
    readReply(snapshot.database, command, options),
  );
  const found = new Map(
    raws.map((raw) => {
      const document = BSON.deserialize(raw) as OwnedDocument;
      return [document._id as string, { documents: [document], replyItems: 1, replyBytes: raw.length }];
    }),
  );
  const unread = mayBeCut ? wanted.filter(({ id }) => !found.has(id)) : [];
  if (unread.length === 0) return found;
  return new Map([...found, ...(await readDocuments(snapshot, { kind, projection }, unread))]);
}
