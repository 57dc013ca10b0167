import { z } from 'zod';
import { type Document, type Entity, tombstoneIndex } from './entity.ts';
import { exampleInstant, instant, name, optional, prefixedId } from './fields.ts';

/** A higher rate limit counts as this one, because the API keeps an instant in memory for each counted request. */
export const rateLimitMax = 1_000_000;

/** The state of an API key. It contains the hash of the token, never the token. */
export const apiKeyState = z.object({
  id: prefixedId('key_'),
  name,
  mode: z.enum(['live', 'test']),
  tokenSha256: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .transform((value) => value.toLowerCase()),
  access: z.enum(['read', 'full']),
  createdAt: instant,
  archivedAt: optional(instant),
  /** The requests that this key may make in one window, in place of the service's number. */
  rateLimit: optional(z.int().min(1)),
});

const example: z.input<typeof apiKeyState> = {
  id: 'key_1',
  name: 'Key',
  mode: 'live',
  tokenSha256: 'AB'.repeat(32),
  access: 'read',
  createdAt: exampleInstant,
};

type ApiKey = z.output<typeof apiKeyState>;
export type ApiKeyDocument = Document<ApiKey>;

export const apiKey = {
  topic: 'api-keys',
  idPrefix: 'key_',
  state: apiKeyState,
  example,
  collection: 'apiKeys',
  indexes: [{ name: 'token', key: { 'state.tokenSha256': 1 } }, tombstoneIndex],
  sortKeys: () => ({}),
} as const satisfies Entity<ApiKey>;
