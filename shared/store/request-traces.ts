import type { Collection, Db, IndexDescription } from 'mongodb';

/** What is kept of one request, in the control database; nothing in it names a person. */
export type RequestTrace = {
  /** The response's `Request-Id`. */
  _id: string;
  /** When the request arrived. */
  at: Date;
  /** `other` for one that HTTP does not define; null where nothing could be made of what was sent, like `route`. */
  method: string | null;
  /** Pattern of the route that matched, `/v1/tickets/:id`; null where none did. */
  route: string | null;
  /** The id in the path, where it has the form of this service's ids. */
  pathId: string | null;
  /** In the order sent; `values` are null where they are not kept. None without a valid key. */
  parameters: { name: string; values: string[] | null }[];
  status: number;
  /** Code of the error that was answered. */
  code: string | null;
  /** From the request's arrival to the end of its response, in milliseconds. */
  durationMs: number;
  /** Whether the connection was gone before the response had ended. */
  aborted: boolean;
  /** Whose key it was; both null where none was accepted. */
  keyId: string | null;
  orgId: string | null;
  /** Host name of the process that answered. */
  replica: string;
  /** When the store may drop it (TTL). */
  expiresAt: Date;
};

export const requestTracesOf = (control: Db): Collection<RequestTrace> =>
  control.collection('request_traces');

/** Each trace says when it expires, so that another retention needs no other index. */
export const requestTraceIndex: IndexDescription = {
  name: 'expiry',
  key: { expiresAt: 1 },
  expireAfterSeconds: 0,
};

/** The form of a `Request-Id`: a ULID behind `req_`. */
export const requestIdShape = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
