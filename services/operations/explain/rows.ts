import { counted } from '../../../shared/runtime/counted.ts';
import type { Row } from '../row.ts';
import type { ExplainedDocument, ExplainedReference, Explanation } from './explanation.ts';

export const notFoundText = ({ id, completeTo, refused }: Explanation): string =>
  `${id}: no living generation has a document with this id` +
  `${refused.length === 0 ? ', and no dead letter names it' : ''}. Complete up to ${completeTo ?? 'no instant yet'}.`;

/** The rows about a document as a whole. `now` is the time of the explanation. */
export function documentRows(document: ExplainedDocument, now: string): Row[] {
  const { generation, generationState, orgId, status, partition, fanOut, differsFromActive } = document;
  const state =
    generationState === 'active' ? 'the active generation' : `a generation that is ${generationState}`;
  const seconds = partition && Math.round((Date.parse(now) - Date.parse(partition.completeTo)) / 1_000);
  const waiting = partition && counted(partition.end - partition.position, 'record');
  return [
    ['generation', `${generation}, ${state}`],
    ['organization', orgId ?? 'unknown'],
    [
      'status',
      status === 'pending' ? 'pending: not served, because a required reference is missing' : status,
    ],
    ['retention', document.servedUntil && retentionText(document.servedUntil, now)],
    [
      'partition',
      partition && `complete up to ${partition.completeTo} (${seconds} s ago), ${waiting} to apply`,
    ],
    ['fan-out', fanOut && `in progress: ${fanOut.from} after ${fanOut.after || 'the start'}`],
    ['fresh join', freshJoinText(document.outdated)],
    ['vs active', differsFromActive && (differsFromActive.join(', ') || 'no difference')],
  ];
}

const retentionText = (until: string, now: string): string =>
  until <= now ? `expired at ${until}: the API answers 404` : `served until ${until}`;

const freshJoinText = (outdated: ExplainedDocument['outdated']): string => {
  if (!outdated) return 'not checked: another release joins the documents of this generation';
  return outdated.length === 0 ? 'no difference' : `differs in ${outdated.join(', ')}`;
};

/**
 * A record that a document was made from: the record of its state, its Kafka tombstone, or the record of a reference.
 */
export type Ingredient = Omit<ExplainedReference, 'edge'> & {
  /** `state`, `tombstone`, or the name of the reference in the projection. */
  field: string;
};

/** The ingredients of a document: its state, its Kafka tombstone if any, then its references. */
export function ingredients(document: ExplainedDocument): Ingredient[] {
  const { kind, id, status, version, record, tombstone, references } = document;
  const entity = { kind, id, fields: [] };
  const found: Ingredient[] = [{ ...entity, field: 'state', status, version, record }];
  if (tombstone)
    found.push({ ...entity, field: 'tombstone', status: 'deleted', version: null, record: tombstone });
  return [...found, ...references.map(({ edge, ...reference }) => ({ ...reference, field: edge }))];
}
