import type { DocsLocation } from '../http/error-envelope.ts';

/** The settings that the OpenAPI document contains. */
export type SpecSettings = {
  docs: DocsLocation;
  keyPrefix: string;
  /** Requests that a key may make in one window; 0 = no limit. */
  limit: { requests: number; windowSeconds: number };
};
