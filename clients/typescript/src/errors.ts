import type { ErrorCode } from './types.ts';

type Details = {
  status: number;
  code: ErrorCode | null;
  message: string;
  param?: string | undefined;
  docUrl?: string | undefined;
  requestId: string | null;
  dataAsOf?: Date | null;
  retryAfterMs?: number | null;
};

/** The API has answered, but not with what was asked for. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Branch on this. Null when the answer is not the API's own, but that of a proxy before it. */
  readonly code: ErrorCode | null;
  /** The offending query parameter, with `invalid_query_parameter`. */
  readonly param: string | undefined;
  /** Page about the code. */
  readonly docUrl: string | undefined;
  /** Tell it to support. */
  readonly requestId: string | null;
  /** Every change made up to this instant was known to who answered; null when the answer is not the API's own. */
  readonly dataAsOf: Date | null;
  /** How long the service asks to be left alone, in milliseconds; null when it does not say. */
  readonly retryAfterMs: number | null;

  constructor({ status, code, message, param, docUrl, requestId, dataAsOf, retryAfterMs }: Details) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
    this.docUrl = docUrl;
    this.requestId = requestId;
    this.dataAsOf = dataAsOf ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}

/** The API could not be reached, or the connection broke off; `cause` is what the platform says about it. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(cause: unknown) {
    super('The API could not be reached, or the connection broke off.', { cause });
  }
}

/** One attempt, with the reading of its body, has taken longer than `timeoutMs`. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`The API has not answered in full within ${timeoutMs} ms.`);
    this.timeoutMs = timeoutMs;
  }
}
