import { counted } from '../../../shared/runtime/counted.ts';
import type { ExplainedDocument, ExplainedReference, Explanation, SourceRecord } from './explain.ts';

/** A name and a text that an operator reads. */
export type Row = [name: string, value: string];

export const notFoundText = ({ id, completeTo, refused }: Explanation): string =>
  `${id}: no living generation has a document with this id` +
  `${refused.length === 0 ? ', and no dead letter names it' : ''}. Complete up to ${completeTo ?? 'no instant yet'}.`;

/** The records about the id that were refused, each with the command that shows it. */
export const refusedRows = ({ refused }: Explanation): Row[] =>
  refused.map(({ id, version, reason, detail }) => [
    'refused',
    `${id.split('@')[0]}, ${version === null ? '' : `version ${version}, `}${reason}: ${detail} → dead-letters show ${id}`,
  ]);

/** The latest requests that named the id, by their Request-Id. */
export const requestRows = ({ requests }: Explanation): Row[] =>
  requests.map(({ id, time, status, code, key }) => [
    id,
    `${time}, ${status}${code ? ` ${code}` : ''}, ${key ?? 'no key accepted'}`,
  ]);

/** The rows that explain a document: its own, then one for each reference, named by its edge. `now` is the explanation's. */
export function explainedRows(document: ExplainedDocument, now: string): Row[] {
  const { generation, generationState, orgId, version, status, partition } = document;
  const state =
    generationState === 'active' ? 'the active generation' : `a generation that is ${generationState}`;
  const seconds = partition && Math.round((Date.parse(now) - Date.parse(partition.completeTo)) / 1_000);
  const waiting = partition && counted(partition.end - partition.position, 'record');
  const rows: [string, string | null][] = [
    ['generation', `${generation}, ${state}`],
    ['organization', orgId ?? 'unknown'],
    [
      'status',
      status === 'pending' ? 'pending: not served, because a required reference is missing' : status,
    ],
    ['retention', document.servedUntil && retentionText(document.servedUntil, now)],
    ['version', String(version)],
    ['record', document.record && recordText(document.record)],
    ['tombstone', document.tombstone && recordText(document.tombstone)],
    [
      'partition',
      partition && `complete up to ${partition.completeTo} (${seconds} s ago), ${waiting} to apply`,
    ],
    [
      'fan-out',
      document.fanOut && `in progress: ${document.fanOut.from} after ${document.fanOut.after || 'the start'}`,
    ],
    ['fresh join', freshJoinText(document.outdated)],
    ['vs active', document.differsFromActive && (document.differsFromActive.join(', ') || 'no difference')],
  ];
  return [...rows.filter((row): row is Row => row[1] !== null), ...document.references.map(referenceRow)];
}

const retentionText = (until: string, now: string): string =>
  until <= now ? `expired at ${until}: the API answers 404` : `served until ${until}`;

const freshJoinText = (outdated: ExplainedDocument['outdated']): string => {
  if (!outdated) return 'not checked: another release joins the documents of this generation';
  return outdated.length === 0 ? 'no difference' : `differs in ${outdated.join(', ')}`;
};

const recordText = ({ topic, partition, offset, time }: SourceRecord): string =>
  `${topic}/${partition} offset ${offset}, ${time}`;

function referenceRow({ edge, kind, id, status, version, record, fields }: ExplainedReference): Row {
  const source = record ? ` version ${version}, ${recordText(record)}` : '';
  return [edge, `${kind} ${id}: ${status}${source}${fields.length > 0 ? ` (${fields.join(', ')})` : ''}`];
}
