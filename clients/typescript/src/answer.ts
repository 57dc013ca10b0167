import { retryAfterMs } from './backoff.ts';
import { ApiError, CutResponseError } from './errors.ts';
import type { Answer, ErrorBody, RateLimit } from './types.ts';

type Receipt = {
  /** The origin of the API, for messages. */
  origin: string;
  /** The time of day. */
  nowMs: number;
};

/**
 * Returns a response of the API. Throws `ApiError` for an error, and for a response of another server. Throws
 * `CutResponseError` for a response that ends within its JSON, because a proxy of HTTP/1.0 passes on a broken response
 * as if it were complete.
 */
export function readAnswer(response: Response, text: string, { origin, nowMs }: Receipt): Answer<unknown> {
  const { ok, status, headers } = response;
  const data = parseJson(text);
  const requestId = headers.get('Request-Id');
  if (data === undefined && requestId !== null && isJson(headers)) {
    const cut = `HTTP ${status} ended after ${text.length} characters, within its JSON`;
    throw new CutResponseError(origin, requestId, new Error(cut));
  }
  if (!ok) throw errorOf(response, data, nowMs);
  const dataAsOf = dataAsOfOf(headers);
  if (data === undefined || requestId === null || dataAsOf === null) {
    const message = `HTTP ${status}, but the response is not from this API. Check baseUrl.`;
    throw new ApiError({ status, message, requestId });
  }
  return { data, requestId, dataAsOf, rateLimit: rateLimitOf(headers), headers };
}

function errorOf({ status, headers }: Response, body: unknown, nowMs: number): ApiError {
  const waitMs = retryAfterMs(headers, nowMs);
  if (isEnvelope(body)) {
    return new ApiError({ ...body.error, status, dataAsOf: dataAsOfOf(headers), retryAfterMs: waitMs });
  }
  return new ApiError({
    status,
    message: `HTTP ${status}, from a server between this client and the API, such as a proxy.`,
    requestId: headers.get('Request-Id'),
    retryAfterMs: waitMs,
  });
}

const isEnvelope = (body: unknown): body is { error: ErrorBody } =>
  typeof (body as { error?: Partial<ErrorBody> } | null | undefined)?.error?.code === 'string';

const isJson = (headers: Headers): boolean => /^application\/json\b/i.test(headers.get('Content-Type') ?? '');

/** Returns the first value of a header: a proxy may append a value of its own, after a comma. */
const first = (headers: Headers, name: string): string | null => headers.get(name)?.split(',')[0] ?? null;

function dataAsOfOf(headers: Headers): Date | null {
  const dataAsOf = new Date(first(headers, 'Data-As-Of') ?? '');
  return Number.isNaN(dataAsOf.getTime()) ? null : dataAsOf;
}

function rateLimitOf(headers: Headers): RateLimit | null {
  const numbers = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'].map((name) =>
    Number.parseInt(first(headers, name) ?? '', 10),
  );
  const [limit = NaN, remaining = NaN, resetSeconds = NaN] = numbers;
  return numbers.some(Number.isNaN) ? null : { limit, remaining, resetSeconds };
}

/** Returns undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
