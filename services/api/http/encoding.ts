import Negotiator from 'negotiator';
import type { Context } from './context.ts';

/** Content codings that the API can send. */
export type Encoding = 'br' | 'gzip' | 'identity';

const preference: Encoding[] = ['br', 'gzip', 'identity'];

/**
 * The longest `Accept-Encoding` that the API parses, because 32 KB would take 3 ms. The response to a longer one is not
 * compressed.
 */
const acceptedLengthMax = 1_000;

/** The type declarations of `negotiator` lack the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** A client that refuses all of these encodings, even `identity`, gets plain text, as RFC 9110 advises. */
export function chooseEncoding({ req }: Pick<Context, 'req'>): Encoding {
  const accepted = String(req.headers['accept-encoding'] ?? '');
  if (accepted.length > acceptedLengthMax) return 'identity';
  const negotiator: Negotiate = new Negotiator(req);
  return (negotiator.encoding(preference, { preferred: preference }) ?? 'identity') as Encoding;
}
