import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { Context } from './context.ts';

/** Content codings that the API can send. */
export type Encoding = 'br' | 'gzip' | 'identity';

const preference: Encoding[] = ['br', 'gzip', 'identity'];

/** Clients send one of a few `Accept-Encoding` headers. A header longer than this is not cached. */
const negotiated = new LRUCache<string, Encoding>({ max: 100 });
const cachedLengthMax = 100;

/** The type declarations of `negotiator` lack the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** A client that accepts none of these encodings, not even `identity`, gets plain text, as RFC 9110 advises. */
export function chooseEncoding({ req }: Context): Encoding {
  const accepted = String(req.headers['accept-encoding'] ?? '');
  const known = negotiated.get(accepted);
  if (known) return known;
  const negotiator: Negotiate = new Negotiator(req);
  const encoding = (negotiator.encoding(preference, { preferred: preference }) ?? 'identity') as Encoding;
  if (accepted.length <= cachedLengthMax) negotiated.set(accepted, encoding);
  return encoding;
}
