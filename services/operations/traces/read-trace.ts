import type { Db } from 'mongodb';
import { decodeTime } from 'ulid';
import { requestTracesOf, type RequestTrace } from '../../../shared/store/request-traces.ts';

/** Returns the trace of a request. Throws an error with the possible reasons if there is none. */
export async function readTrace(control: Db, requestId: string): Promise<RequestTrace> {
  const trace = await requestTracesOf(control).findOne({ _id: requestId });
  if (trace) return trace;
  const at = new Date(decodeTime(requestId.slice('req_'.length))).toISOString();
  throw new Error(
    `there is no trace of ${requestId}, a request of ${at}. Either the trace has expired ` +
      "(the API's REQUEST_TRACE_DAYS, 90 by default), or it was lost during an outage of MongoDB (the API logs and " +
      'counts lost traces), or that API does not write traces (REQUEST_TRACES), or it is not stored yet (about 1 s)',
  );
}
