import { retryAfterMs } from './backoff.ts';
import { ApiError } from './errors.ts';
import type { ErrorCode, Meta, RateLimit } from './types.ts';

/** A body that the API vouches for, and what its headers say. */
export type RawAnswer = { body: unknown; meta: Meta };

/** Tells the API's own answers from errors, and from what a proxy or a wrong address answers with. */
export function readAnswer(response: Response, text: string, nowMs: number): RawAnswer {
  const { status, headers } = response;
  const body = parseJson(text);
  const requestId = headers.get('Request-Id');
  if (!response.ok) throw errorOf(response, body, nowMs);
  const dataAsOf = dataAsOfOf(headers);
  if (body === undefined || requestId === null || dataAsOf === null) {
    const message = `HTTP ${status}, but not an answer of this API. Is baseUrl right?`;
    throw new ApiError({ status, code: null, message, requestId });
  }
  return { body, meta: { requestId, dataAsOf, rateLimit: rateLimitOf(headers) } };
}

type Envelope = {
  error: { code: ErrorCode; message: string; docUrl: string; requestId: string; param?: string };
};

function errorOf({ status, headers }: Response, body: unknown, nowMs: number): ApiError {
  const waitMs = retryAfterMs(headers, nowMs);
  if (isEnvelope(body)) {
    return new ApiError({
      ...body.error,
      status,
      dataAsOf: dataAsOfOf(headers),
      retryAfterMs: waitMs,
    });
  }
  return new ApiError({
    status,
    code: null,
    message: `HTTP ${status}, from something between this client and the API.`,
    requestId: headers.get('Request-Id'),
    retryAfterMs: waitMs,
  });
}

const isEnvelope = (body: unknown): body is Envelope =>
  typeof (body as Partial<Envelope> | null | undefined)?.error?.code === 'string';

function dataAsOfOf(headers: Headers): Date | null {
  const dataAsOf = new Date(headers.get('Data-As-Of') ?? '');
  return Number.isNaN(dataAsOf.getTime()) ? null : dataAsOf;
}

function rateLimitOf(headers: Headers): RateLimit | null {
  const limit = headers.get('RateLimit-Limit');
  if (limit === null) return null;
  return {
    limit: Number(limit),
    remaining: Number(headers.get('RateLimit-Remaining')),
    resetSeconds: Number(headers.get('RateLimit-Reset')),
  };
}

/** Undefined for what is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
