import { errorCatalogue, type ErrorCode } from './error-catalogue.ts';

export type ErrorDetail = {
  /** The offending query parameter. */
  param?: string;
  /** Takes the place of the catalogue's text; shown to the client. */
  message?: string;
  headers?: Record<string, string>;
  /** For the log only. */
  cause?: unknown;
};

/** A failure that the client is told about, by its code in the catalogue. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly param: string | undefined;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, { param, message, headers, cause }: ErrorDetail = {}) {
    super(message ?? errorCatalogue[code].message, { cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = errorCatalogue[code].status;
    this.param = param;
    this.headers = headers ?? {};
  }
}
