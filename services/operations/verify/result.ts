import type { Kind } from '../../../shared/documents/resources.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';

/** A document that differs from the result of a new join of the stored entities. */
export type DifferingDocument = {
  kind: Kind;
  id: string;
  /** The fields that differ, such as `joined.requester`. */
  fields: string[];
  /** The reason why a repair does not write it; null if a repair does. */
  reason: string | null;
};

export type VerifyResult = {
  generation: number;
  /** Living and deleted documents that were read. */
  compared: number;
  /** Documents that differed, and not only because projectors lag. */
  differing: number;
  /** Differing documents that the run has written, so they no longer differ. */
  repaired: number;
  /** How many documents differed in a field. The keys are `<kind> <field>`. */
  fields: Record<string, number>;
  /** The first of the differing documents, repaired or not. */
  samples: DifferingDocument[];
  /** Ids that name no living document; empty if no ids were given. */
  absent: string[];
};

const samplesMax = 20;
/** A note in the history names at most this many documents. */
const idsNamedMax = 5;

/** The result before the first document. */
export const emptyResult = (generation: number): VerifyResult => ({
  generation,
  compared: 0,
  differing: 0,
  repaired: 0,
  fields: {},
  samples: [],
  absent: [],
});

/** Adds a document that differs. */
export function addDiffering(result: VerifyResult, document: DifferingDocument): void {
  result.differing += 1;
  for (const field of document.fields) {
    const name = `${document.kind} ${field}`;
    result.fields[name] = (result.fields[name] ?? 0) + 1;
  }
  if (result.samples.length < samplesMax) result.samples.push(document);
}

/** The outcome of a repair, for the history. */
export function repairText(
  { kind, ids = [] }: { kind?: Kind | undefined; ids?: string[] | undefined },
  { compared, repaired, differing }: VerifyResult,
): string {
  const named = ids.length > 0 ? ` (${abbreviatedIds(ids)})` : '';
  const left = differing > repaired ? `, ${digits(differing - repaired)} left as they are` : '';
  const documents = counted(compared, kind ? `${kind} document` : 'document');
  return `${digits(repaired)} of ${documents}${named} repaired${left}`;
}

/** The first ids, and the number of the others: the whole history is one document of MongoDB, whose size is limited. */
function abbreviatedIds(ids: string[]): string {
  const named = ids.slice(0, idsNamedMax).join(', ');
  const more = ids.length - idsNamedMax;
  return more > 0 ? `${named} and ${digits(more)} more` : named;
}
