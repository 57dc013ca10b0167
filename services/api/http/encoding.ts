import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { Context } from './context.ts';

/** Content codings that the API can send. */
export type Encoding = 'br' | 'gzip' | 'identity';

const preference: Encoding[] = ['br', 'gzip', 'identity'];

/** The longest `Accept-Encoding` that is parsed; one of 32 KB would take 3 ms. Responses to a longer one are not compressed. */
const acceptedLengthMax = 1_000;

/** Clients send one of a few `Accept-Encoding` headers. */
const negotiated = new LRUCache<string, Encoding>({ max: 100 });

/** The type declarations of `negotiator` lack the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** A client that accepts none of these encodings, not even `identity`, gets plain text, as RFC 9110 advises. */
export function chooseEncoding({ req }: Pick<Context, 'req'>): Encoding {
  const accepted = String(req.headers['accept-encoding'] ?? '');
  if (accepted.length > acceptedLengthMax) return 'identity';
  const known = negotiated.get(accepted);
  if (known) return known;
  const negotiator: Negotiate = new Negotiator(req);
  const encoding = (negotiator.encoding(preference, { preferred: preference }) ?? 'identity') as Encoding;
  negotiated.set(accepted, encoding);
  return encoding;
}
