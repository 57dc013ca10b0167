import type { Db } from 'mongodb';
import { decodeTime } from 'ulid';
import { requestTracesOf, type RequestTrace } from '../../../shared/store/request-traces.ts';

/** The trace of a request; fails with the reasons for which there may be none. */
export async function readTrace(control: Db, requestId: string): Promise<RequestTrace> {
  const trace = await requestTracesOf(control).findOne({ _id: requestId });
  if (trace) return trace;
  const at = new Date(decodeTime(requestId.slice('req_'.length))).toISOString();
  throw new Error(
    `there is no trace of ${requestId}, a request of ${at}: it is older than traces are kept ` +
      '(REQUEST_TRACE_DAYS of the API, 90 unless set), was lost while the store was away (the API logs and ' +
      'counts those), was made to an API that does not trace (REQUEST_TRACES), or is not written yet (a second or so)',
  );
}

/** A trace as a person reads it, a line for each thing known. */
export function renderTrace(trace: RequestTrace): string {
  const parameters = trace.parameters.map(
    ({ name, values }) => `${name}${values === null ? ' (value not kept)' : ` = ${values.join(', ')}`}`,
  );
  const rows: [string, string | null][] = [
    ['request', trace._id],
    ['time', trace.at.toISOString()],
    ['method', trace.method ?? 'none: the request could not be read'],
    ['route', trace.route ?? 'none found, or refused before one was looked for'],
    ['id', trace.pathId],
    ...parameters.map((text, index): [string, string] => [index === 0 ? 'parameters' : '', text]),
    ['status', `${trace.status}${trace.aborted ? ', the connection was gone before its end' : ''}`],
    ['error', trace.code],
    ['duration', `${trace.durationMs} ms`],
    ['key', trace.keyId ?? 'none accepted'],
    ['org', trace.orgId],
    ['replica', trace.replica],
    ['kept until', trace.expiresAt.toISOString()],
  ];
  return rows
    .filter((row) => row[1] !== null)
    .map(([name, value]) => `${name.padEnd(12)}${value}\n`)
    .join('');
}
