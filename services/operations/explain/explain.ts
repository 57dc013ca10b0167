import type { Db } from 'mongodb';
import { type Generation, projectionVersion } from '../../../shared/control/generations.ts';
import { readLedgerRecords } from '../../../shared/control/ledger-store.ts';
import { progressOf, readWatermark } from '../../../shared/control/progress.ts';
import { type RecordBytes, recordBytesOf } from '../../../shared/control/record-bytes.ts';
import { livingGenerations, requireRegistry } from '../../../shared/control/registry.ts';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import type { Position } from '../../../shared/documents/entity.ts';
import { recordTime } from '../../../shared/documents/instant.ts';
import { type Kind, kinds } from '../../../shared/documents/resources.ts';
import { expiry, type StoredConversation, visibilityFields } from '../../../shared/documents/visibility.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import { collectionOf, generationDatabase } from '../../../shared/store/connection.ts';
import { edgesOf } from '../../projector/materialize/edges.ts';
import { idsInRefs } from '../../projector/materialize/join.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';
import type { OperatorDeps } from '../deps.ts';
import { findDifferences } from '../rebuild/compare.ts';
import { createPairSource } from '../rebuild/pair-sources.ts';
import { readRecentRequests } from '../traces/read-trace.ts';
import { engineOf, verifyDocuments } from '../verify/verify-documents.ts';
import type { ExplainedDocument, ExplainedRecord, ExplainedReference, Explanation } from './explanation.ts';

type ExplainDeps = Pick<OperatorDeps, 'mongo' | 'control' | 'now'> & {
  config: { DATABASE_NAME: string; TOPIC_PREFIX: string };
};

/** A generation with its database, as one side of a comparison. */
type GenerationSide = { generation: Generation; number: number; database: Db };

/**
 * Explains the documents with an id: the records that each part comes from, the missing references, and how the
 * document differs from a fresh join. Reads everything by id, so the cost does not depend on the size of the data.
 */
export async function explain(deps: ExplainDeps, id: string): Promise<Explanation> {
  const { mongo, control, config } = deps;
  const registry = await requireRegistry(control);
  const now = await deps.now();
  const activeFirst = livingGenerations(registry).toSorted(
    (a, b) => Number(b.state === 'active') - Number(a.state === 'active'),
  );
  const sides = activeFirst.map((generation) => ({
    generation,
    number: generation.number,
    database: generationDatabase(mongo, config.DATABASE_NAME, generation.number),
  }));
  const [active] = sides;
  const completeTo = active ? await readWatermark(control, active.number) : null;
  const explainKind = async (side: GenerationSide, kind: Kind): Promise<ExplainedDocument | null> => {
    const document = await collectionOf<StoredDocument>(side.database, kind).findOne({ _id: id });
    return document && (await explainDocument(deps, { now, active, side }, kind, document));
  };
  const explaining = sides.flatMap((side) => kinds.map((kind) => explainKind(side, kind)));
  const explained = await Promise.all(explaining);
  return {
    id,
    completeTo: completeTo?.toISOString() ?? null,
    now: now.toISOString(),
    documents: explained.filter((document) => document !== null),
    refused: await readRefused(control, id),
    requests: await readRequests(control, id),
  };
}

/** The latest traced requests that named the id. */
async function readRequests(control: Db, id: string): Promise<Explanation['requests']> {
  const recent = await readRecentRequests(control, id);
  return recent.map(({ _id, at, status, code, keyId }) => ({
    id: _id,
    time: at.toISOString(),
    status,
    code,
    key: keyId,
  }));
}

/** An explanation has at most this many dead letters. */
const refusedMax = 10;

/** The latest dead letters that name the entity in their key, subject or state. */
async function readRefused(control: Db, id: string): Promise<Explanation['refused']> {
  const found = await recordBytesOf(control)
    .find({ subjects: id })
    .project<Pick<RecordBytes, '_id' | 'versioned'>>({ versioned: 1 })
    .sort({ storedAt: -1 })
    .limit(refusedMax)
    .toArray();
  const ids = found.map(({ _id }) => _id);
  const entries = await readLedgerRecords(control, ids);
  const refused: Explanation['refused'] = [];
  for (const { _id, versioned } of found) {
    const entry = entries.get(_id);
    if (!entry || entry.purged) continue;
    const version = versioned?.id === id ? versioned.version : null;
    refused.push({ id: _id, version, reason: entry.reason, detail: entry.detail });
  }
  return refused;
}

/** The id in the path of a traced request. Throws an error if the path has no id. */
export function idInTrace({ _id, pathId, route }: RequestTrace): string {
  if (pathId) return pathId;
  throw new Error(`the request ${_id} was for ${route ?? 'no route'}, without an id`);
}

/** The Kafka record that a stored entity comes from; null if the entity has no valid position. */
function recordOf(topic: string, position: Position | null | undefined): ExplainedRecord | null {
  // An operator may have edited the document, so the type is checked.
  if (typeof position?.partition !== 'number' || typeof position.offset !== 'number') return null;
  const { partition, offset, timestampMs } = position;
  return { topic, partition, offset, time: recordTime(timestampMs) };
}

function statusOf({ deletedAt, state, pending }: StoredDocument): ExplainedDocument['status'] {
  if (deletedAt || state === undefined) return 'deleted';
  return pending ? 'pending' : 'living';
}

async function explainDocument(
  { config, control }: ExplainDeps,
  { now, active, side }: { now: Date; active: GenerationSide | undefined; side: GenerationSide },
  kind: Kind,
  document: StoredDocument,
): Promise<ExplainedDocument> {
  const { generation, number, database } = side;
  const { TOPIC_PREFIX: prefix } = config;
  const { _id: id, orgId, version, position, tombstonePosition } = document;
  const record = recordOf(topicOf(kind, prefix), position);
  const progress =
    record && (await progressOf(control).findOne({ _id: `${number}/${record.topic}/${record.partition}` }));
  const compareWith = async (expectedSide: GenerationSide) => {
    const source = createPairSource({ control }, expectedSide, side);
    const differences = await findDifferences(source, kind, await source.reread(kind, [id]), now);
    return differences.flat().map(({ field }) => field);
  };
  const verifyFields = async () => {
    const { differing } = await verifyDocuments(engineOf(database, now), kind, [id], { isRepair: false });
    return differing.get(id) ?? [];
  };
  return {
    generation: number,
    generationState: generation.state,
    kind,
    id,
    orgId,
    version,
    status: statusOf(document),
    record,
    tombstone: recordOf(topicOf(kind, prefix), tombstonePosition),
    partition: progress && {
      position: progress.applied.position,
      end: progress.end,
      completeTo: progress.completeTo.toISOString(),
    },
    references: await explainReferences(database, kind, document, prefix),
    servedUntil: (await readServedUntil(database, kind, document))?.toISOString() ?? null,
    fanOut: document.fanOutCursor ?? null,
    outdated: generation.projectionVersion === projectionVersion ? await verifyFields() : null,
    differsFromActive: active && active !== side ? await compareWith(active) : null,
  };
}

/** The references of a document, in the order of its projection. A ticket has about 200 conversations at most. */
async function explainReferences(
  database: Db,
  kind: Kind,
  document: StoredDocument,
  prefix: string,
): Promise<ExplainedReference[]> {
  const { orgId } = document;
  // An operator may have edited the document, so the types are checked.
  const refs: unknown[] = Array.isArray(document.refs) ? document.refs : [];
  const stringRefs = refs.filter((ref) => typeof ref === 'string');
  const ids = idsInRefs(kind, stringRefs);
  const explained = await Promise.all(
    edgesOf(kind).map(async ({ name: edge, to, fields }) => {
      const wanted = ids[edge] ?? [];
      const found = await collectionOf<StoredDocument>(database, to)
        .find({ _id: { $in: wanted } })
        .project<StoredDocument>({ orgId: 1, version: 1, position: 1, deletedAt: 1, 'state.id': 1 })
        .toArray();
      const byId = new Map(found.map((entity) => [entity._id, entity]));
      return wanted.map((id) => {
        const entity = byId.get(id);
        const status = referenceStatus(entity, orgId);
        const version = entity?.version ?? null;
        const record = recordOf(topicOf(to, prefix), entity?.position);
        return { edge, fields, kind: to, id, status, version, record };
      });
    }),
  );
  return explained.flat();
}

/** Only a living entity of the document's organization is embedded. `missing`: no record of it was applied. */
function referenceStatus(entity: StoredDocument | undefined, orgId: string | null): string {
  if (!entity) return 'missing';
  if (entity.orgId !== null && entity.orgId !== orgId) return 'other organization';
  return entity.state === undefined ? 'deleted' : 'living';
}

/**
 * Returns when the API begins to hide a conversation or message, because its retention ends. Null if it never does, and
 * for other kinds.
 */
async function readServedUntil(
  database: Db,
  kind: Kind,
  { _id, state }: StoredDocument,
): Promise<Date | null> {
  if (!state || (kind !== 'conversation' && kind !== 'message')) return null;
  const conversations = collectionOf<StoredConversation & { _id: string }>(database, 'conversation');
  const filter = { _id: kind === 'message' ? String(state.conversationId) : _id };
  const conversation = await conversations.findOne(filter, { projection: visibilityFields });
  const retainedFrom: unknown = kind === 'message' ? state.createdAt : conversation?.state.updatedAt;
  return conversation && retainedFrom instanceof Date ? expiry(conversation, retainedFrom) : null;
}
