import type { Kind } from '../../../shared/documents/resources.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';

/** A document that differs from its fresh join. */
export type Wrong = {
  kind: Kind;
  id: string;
  /** The fields that differ, such as `joined.requester`. */
  fields: string[];
  /** The reason why it stays as it is; null if a repair writes it. */
  reason: string | null;
};

export type VerifyResult = {
  generation: number;
  /** Living and deleted documents that were read. */
  compared: number;
  /** Documents that differed, and not only because projectors lag. */
  differing: number;
  /** Differing documents that the run has written: they are right now. */
  repaired: number;
  /** How many documents differed in a field, by `<kind> <field>`. */
  fields: Record<string, number>;
  /** The first of the documents that still differ, and of the others. */
  samples: Wrong[];
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
export function addWrong(result: VerifyResult, one: Wrong): void {
  result.differing += 1;
  for (const field of one.fields) {
    const name = `${one.kind} ${field}`;
    result.fields[name] = (result.fields[name] ?? 0) + 1;
  }
  if (result.samples.length < samplesMax) result.samples.push(one);
}

/** The outcome of a repair, for the history. */
export function outcomeOf(
  { kind, ids = [] }: { kind?: Kind | undefined; ids?: string[] | undefined },
  { compared, repaired, differing }: VerifyResult,
): string {
  const named = ids.length > 0 ? ` (${firstOf(ids)})` : '';
  const left = differing > repaired ? `, ${digits(differing - repaired)} left as they are` : '';
  const documents = counted(compared, kind ? `${kind} document` : 'document');
  return `${digits(repaired)} of ${documents}${named} repaired${left}`;
}

/** The first of some ids; the history is one document of MongoDB, which bounds its length. */
function firstOf(ids: string[]): string {
  const more = ids.length - idsNamedMax;
  return ids.slice(0, idsNamedMax).join(', ') + (more > 0 ? ` and ${digits(more)} more` : '');
}
