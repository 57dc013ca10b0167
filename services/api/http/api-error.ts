import { errorCatalogue, type ErrorCode } from './error-catalogue.ts';

type ErrorDetail = {
  /** The invalid query parameter. */
  param?: string;
  /** Replaces the text of the catalogue. The client sees it. */
  message?: string;
  headers?: Record<string, string>;
  /** For the log only. */
  cause?: unknown;
};

/** An error that the client receives, with a code of the error catalogue. */
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
