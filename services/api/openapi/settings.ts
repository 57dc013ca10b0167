import type { DocsLocation } from '../http/error-envelope.ts';

/** What of the configuration shows in the document. */
export type DocumentSettings = {
  docs: DocsLocation;
  brand: string;
  /** Requests that a key may make in one window; 0 = no limit. */
  limit: { requests: number; windowSeconds: number };
};
