import type { Collection, Db, IndexDescription } from 'mongodb';

/** The trace of one request. It contains no personal data. */
export type RequestTrace = {
  /** The response's `Request-Id`. */
  _id: string;
  /** When the request arrived. */
  at: Date;
  /** A method that Node's HTTP parser knows; null if the request could not be parsed. */
  method: string | null;
  /** The pattern of the matching route, such as `/v1/tickets/:id`; null if no route matched. */
  route: string | null;
  /** The id in the path, if it has the form of this service's ids. */
  pathId: string | null;
  /** In the order sent. `values` are the parsed ones; null if they are not stored. Empty without a valid key. */
  parameters: { name: string; values: string[] | null }[];
  status: number;
  /** The error code of the response. */
  code: string | null;
  /** From the request's arrival to the end of its response, in milliseconds. */
  durationMs: number;
  /** Whether the connection closed before the response had ended. */
  aborted: boolean;
  /** The key and its organization; both null if no key was accepted. */
  keyId: string | null;
  orgId: string | null;
};

/** A batch of traces, stored as one document, because one document for each trace would cost MongoDB far more. */
export type TraceBatch = {
  /** The id of the first trace: ids begin with their time. */
  _id: string;
  traces: RequestTrace[];
  /** The host name of the process that responded. */
  replica: string;
  /** When the TTL index may remove the batch. Each batch has its time, so a changed retention needs no new index. */
  expiresAt: Date;
};

export const requestTracesOf = (control: Db): Collection<TraceBatch> => control.collection('request_traces');

export const requestTraceIndexes: IndexDescription[] = [
  { name: 'expiry', key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  { name: 'request', key: { 'traces._id': 1 } },
];

/** The form of a `Request-Id`: `req_` and a ULID. */
export const requestIdShape = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
