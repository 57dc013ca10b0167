import type { Kind } from '../../../shared/documents/resources.ts';
import type { Refreshed } from './refresh-documents.ts';

export type RefreshResult = {
  generation: number;
  kind: Kind;
  dryRun: boolean;
  /** Where an interrupted refresh was continued; null if this one began with the first document. */
  continuedAfter: string | null;
  /** Documents that were read, also before an interruption. */
  read: number;
  /** Documents that were wrong. A dry run has not written them. */
  changed: number;
  /** How many documents were wrong in a field, such as `joined.requester`. */
  fields: Record<string, number>;
  /** The first of the wrong documents. */
  samples: { id: string; fields: string[] }[];
  /** Documents that stay wrong. */
  left: number;
  /** The first of those, and why. */
  leftSamples: { id: string; reason: string }[];
  /** Ids that name no living document; of a refresh of all, none. */
  absent: string[];
};

const samplesMax = 20;

/** The result before the first document. */
export const nothingYet = (): Omit<RefreshResult, 'generation' | 'kind' | 'dryRun'> => ({
  continuedAfter: null,
  read: 0,
  changed: 0,
  fields: {},
  samples: [],
  left: 0,
  leftSamples: [],
  absent: [],
});

/** Adds the outcome of some documents. */
export function addBatch(result: RefreshResult, { changed, left }: Refreshed): void {
  result.changed += changed.size;
  result.left += left.size;
  for (const [id, fields] of changed) {
    for (const field of fields) result.fields[field] = (result.fields[field] ?? 0) + 1;
    if (result.samples.length < samplesMax) result.samples.push({ id, fields });
  }
  for (const [id, reason] of left)
    if (result.leftSamples.length < samplesMax) result.leftSamples.push({ id, reason });
}
