import type { Db } from 'mongodb';
import { decodeTime } from 'ulid';
import {
  type RequestTrace,
  requestTracesOf,
  type TraceBatch,
} from '../../../shared/control/request-traces.ts';
import type { Row } from '../row.ts';

/** A trace with the fields of its batch. */
export type TraceOfReplica = RequestTrace & Pick<TraceBatch, 'replica' | 'expiresAt'>;

/** Returns the trace of a request. If the trace does not exist, throws an error with the possible reasons. */
export async function readTrace(control: Db, requestId: string): Promise<TraceOfReplica> {
  const batch = await requestTracesOf(control).findOne({ 'traces._id': requestId });
  const trace = batch?.traces.find(({ _id }) => _id === requestId);
  if (batch && trace) return { ...trace, replica: batch.replica, expiresAt: batch.expiresAt };
  const at = new Date(decodeTime(requestId.slice('req_'.length))).toISOString();
  throw new Error(
    `there is no trace of ${requestId}, a request of ${at}. Either the trace has expired ` +
      "(the API's REQUEST_TRACE_DAYS, 90 by default), or it was lost during an outage of MongoDB (the API logs and " +
      `counts lost traces), or that API stores no traces (REQUEST_TRACE_DAYS=0) or has another DATABASE_NAME, or it is ` +
      'not stored yet (about 1 s)',
  );
}

/**
 * The search for an id reads only this many of the latest traces: an index of the ids would cost each request a write.
 */
const searchedMax = 20_000;
const recentMax = 5;

/** The latest traced requests whose path names an id, the latest first. */
export async function readRecentRequests(control: Db, id: string): Promise<RequestTrace[]> {
  const found = await requestTracesOf(control)
    // A Request-Id begins with its time.
    .aggregate<{ traces: RequestTrace }>([
      { $sort: { _id: -1 } },
      { $unwind: '$traces' },
      { $limit: searchedMax },
      { $match: { 'traces.pathId': id } },
      { $sort: { 'traces._id': -1 } },
      { $limit: recentMax },
    ])
    .toArray();
  return found.map(({ traces }) => traces);
}

/** The known fields of a trace as rows for an operator. */
export function traceRows(trace: TraceOfReplica): Row[] {
  const parameters = trace.parameters.map(
    ({ name, values }) => `${name}${values === null ? ' (value not kept)' : ` = ${values.join(', ')}`}`,
  );
  return [
    ['request', trace._id],
    ['time', trace.at.toISOString()],
    ['method', trace.method ?? 'none: the request could not be parsed'],
    ['route', trace.route ?? 'none: no route matched, or the request was refused before routing'],
    ['id', trace.pathId],
    ...parameters.map((text, index): Row => [index === 0 ? 'parameters' : '', text]),
    ['status', `${trace.status}${trace.aborted ? ', the connection closed before the response ended' : ''}`],
    ['error', trace.code],
    ['duration', `${trace.durationMs} ms`],
    ['key', trace.keyId ?? 'none accepted'],
    ['org', trace.orgId],
    ['replica', trace.replica],
    ['kept until', trace.expiresAt.toISOString()],
  ];
}
