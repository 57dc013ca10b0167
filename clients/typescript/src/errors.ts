import type { ErrorCode, ErrorType } from './types.ts';

type ErrorDetails = Pick<ApiError, 'status' | 'message' | 'requestId'> &
  Partial<Pick<ApiError, 'type' | 'code' | 'param' | 'docUrl' | 'dataAsOf' | 'retryAfterMs'>>;

/** The API, or a server before it, has responded with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** The category of `code`; null if `code` is null. */
  readonly type: ErrorType | null;
  /** Branch on this field. Null if another server has responded, such as a proxy. */
  readonly code: ErrorCode | null;
  /** The invalid query parameter, only with `invalid_query_parameter`. */
  readonly param: string | undefined;
  /** URL of the documentation of the code. */
  readonly docUrl: string | undefined;
  /** Quote it when you contact support. */
  readonly requestId: string | null;
  /** The response reflects every change up to this instant; null if the response is not the API's own. */
  readonly dataAsOf: Date | null;
  /** The wait that the response requests before the next attempt, in milliseconds; null if it requests none. */
  readonly retryAfterMs: number | null;

  constructor({
    status,
    type,
    code,
    message,
    param,
    docUrl,
    requestId,
    dataAsOf,
    retryAfterMs,
  }: ErrorDetails) {
    super(message);
    this.status = status;
    this.type = type ?? null;
    this.code = code ?? null;
    this.param = param;
    this.docUrl = docUrl;
    this.requestId = requestId;
    this.dataAsOf = dataAsOf ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}

/**
 * The API could not be reached, or the connection broke. The message has the reason; `cause` is the platform's error.
 */
export class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';
  /** True if there is no server: the port is closed, or the name of the host is unknown. */
  readonly isRefused: boolean;

  constructor(origin: string, cause: unknown, summary?: string) {
    const { code, message } = innermost(cause);
    const isRefused = ['ECONNREFUSED', 'ENOTFOUND', 'ConnectionRefused'].includes(code);
    const refused = `There is no API at ${origin}: check baseUrl.`;
    const broken = `${origin} could not be reached, or the connection broke.`;
    super(`${summary ?? (isRefused ? refused : broken)} Reason: ${message || code}`, { cause });
    this.isRefused = isRefused;
  }
}

/**
 * A response began and broke off. The client uses no part of the response, and has retried the request as often as its
 * options allow.
 */
export class CutResponseError extends ConnectionError {
  override readonly name = 'CutResponseError';
  /** Quote it when you contact support; null if the response is not the API's own. */
  readonly requestId: string | null;

  constructor(origin: string, requestId: string | null, cause: unknown) {
    const advice =
      'Send the request again. If each response breaks off, request less at once, with a lower limit or with ' +
      'conversations.messages.list, and look for a limit on time or size in the proxies before the API.';
    super(origin, cause, `A response of ${origin} broke off (response ${requestId}). ${advice}`);
    this.requestId = requestId;
  }
}

type PlatformError = { cause?: unknown; errors?: unknown[]; code?: unknown; message?: unknown };

/** The innermost error: `fetch` reports only that it failed, and has an error for each address of a host. */
function innermost(error: unknown): { code: string; message: string } {
  const { cause, errors, code, message } = (error ?? {}) as PlatformError;
  const inner = errors?.[0] ?? cause;
  return inner ? innermost(inner) : { code: String(code), message: String(message) };
}

/** One attempt, including reading the body, has taken longer than `timeoutMs`. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The API has not sent a complete response within ${timeoutMs} ms.`);
    this.timeoutMs = timeoutMs;
  }
}

/** A list returns pages again that it has returned before, so a loop over it would never end. */
export class EndlessListError extends Error {
  override readonly name = 'EndlessListError';
  /** The path of the list. */
  readonly path: string;
  /** The page after this cursor repeats an earlier one; null for the first page of a walk. */
  readonly cursor: string | null;
  /** Quote it when you contact support. */
  readonly requestId: string;

  constructor({
    path,
    startingAfter,
    requestId,
  }: {
    path: string;
    startingAfter: string | null;
    requestId: string;
  }) {
    const summary = `${path} does not end: the page after the cursor "${startingAfter}" (response ${requestId}) repeats an earlier one.`;
    const advice =
      'Check that no cache or proxy before the API ignores the query, then read the list again from its start, and ' +
      'replace items by their id. If this comes again, report the request id.';
    super(`${summary} ${advice}`);
    this.path = path;
    this.cursor = startingAfter;
    this.requestId = requestId;
  }
}
