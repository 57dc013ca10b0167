import type { GenerationState } from '../../../shared/control/generations.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { StoredDocument } from '../../projector/materialize/store.ts';

/** The place of a Kafka record. `time` is ISO 8601; null if the record's timestamp is invalid. */
export type ExplainedRecord = { topic: string; partition: number; offset: number; time: string | null };

/** An entity to which a document refers. */
export type ExplainedReference = {
  /** The name of the reference in the projection. */
  edge: string;
  /** The fields of the entity that the document embeds. */
  fields: readonly string[];
  kind: Kind;
  id: string;
  /** `living`, `missing`, `deleted` or `other organization`. */
  status: string;
  /** Null if no record of it was applied. */
  version: number | null;
  /** The record that its state comes from. */
  record: ExplainedRecord | null;
};

/** The progress of a record's partition: records from `position` on are not applied yet. */
type ExplainedPartition = { position: number; end: number; completeTo: string };

/** A document in one generation, and the records that it was made from. Instants are ISO 8601. */
export type ExplainedDocument = {
  generation: number;
  generationState: GenerationState;
  kind: Kind;
  id: string;
  orgId: string | null;
  version: number;
  /** `pending`: a required reference is missing, so the API does not serve the document. */
  status: 'living' | 'pending' | 'deleted';
  /** The record that its state comes from; null if only its deletion is known. */
  record: ExplainedRecord | null;
  /** The latest Kafka tombstone on its key. */
  tombstone: ExplainedRecord | null;
  /** Null if its record is unknown, or if its partition has no progress. */
  partition: ExplainedPartition | null;
  /** In the order of its projection. */
  references: ExplainedReference[];
  /** The end of its retention, from which the API answers 404; null if it is kept forever. */
  servedUntil: string | null;
  /** Set while documents that embed this one are still being refreshed. */
  fanOut: NonNullable<StoredDocument['fanOutCursor']> | null;
  /** Fields that differ from a fresh join of the stored entities; null if another release joins this generation. */
  outdated: string[] | null;
  /** Fields that differ from the document of the active generation; null for the active generation itself. */
  differsFromActive: string[] | null;
};

/** A dead letter that names an entity. `version` is null unless the record is about this entity and names a version. */
type ExplainedDeadLetter = {
  id: string;
  version: number | null;
  reason: Rejection['reason'];
  detail: string;
};

/** A request whose path names an entity. `key` is null if the API accepted no key, `code` if it returned no error. */
type ExplainedRequest = { id: string; time: string; status: number; code: string | null; key: string | null };

/** The documents with an id in each generation, and the records and requests that name it. Instants are ISO 8601. */
export type Explanation = {
  id: string;
  /** The active generation has applied all events up to this instant. */
  completeTo: string | null;
  now: string;
  /** The documents of all living generations with this id, the active generation first. */
  documents: ExplainedDocument[];
  /** The latest dead letters whose key, subject or state names the entity. */
  refused: ExplainedDeadLetter[];
  /** The latest traced requests whose path names the id, the latest first. */
  requests: ExplainedRequest[];
};
