import type { Collection, Db, IndexDescription } from 'mongodb';

/** The stored trace of one request, in the control database. It contains no personal data. */
export type RequestTrace = {
  /** The response's `Request-Id`. */
  _id: string;
  /** When the request arrived. */
  at: Date;
  /** `other` if HTTP does not define the method; null if the request could not be parsed. */
  method: string | null;
  /** The pattern of the matching route, such as `/v1/tickets/:id`; null if no route matched. */
  route: string | null;
  /** The id in the path, if it has the form of this service's ids. */
  pathId: string | null;
  /** In the order sent. `values` is null if the values are not stored. Empty without a valid key. */
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
  /** The host name of the process that responded. */
  replica: string;
  /** When the TTL index may remove the trace. */
  expiresAt: Date;
};

export const requestTracesOf = (control: Db): Collection<RequestTrace> =>
  control.collection('request_traces');

/** Each trace has its own expiry, so that a changed retention needs no new index. */
export const requestTraceIndex: IndexDescription = {
  name: 'expiry',
  key: { expiresAt: 1 },
  expireAfterSeconds: 0,
};

/** The form of a `Request-Id`: `req_` and a ULID. */
export const requestIdShape = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
