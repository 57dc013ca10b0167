import { Readable } from 'node:stream';
import { constants } from 'node:zlib';
import compress from 'koa-compress';
import Negotiator from 'negotiator';
import type { Context, Step } from './request-state.ts';

/** Below this many bytes a response fits a packet or two as it is. */
const thresholdBytes = 1_024;
const preference = ['br', 'gzip', 'identity'];

/**
 * Compresses with what the client likes best, brotli where it has no preference. Brotli's window is kept at
 * 256 KB: its default of 4 MB would be held for every long conversation under way.
 */
const compressed = compress({
  threshold: thresholdBytes,
  encodingPreference: preference,
  wildcardAcceptEncoding: 'br',
  br: { params: { [constants.BROTLI_PARAM_QUALITY]: 4, [constants.BROTLI_PARAM_LGWIN]: 18 } },
  gzip: { level: 4 },
  deflate: false,
  zstd: false,
});

/** What the library asks; its types lack the second argument. */
type Negotiate = { encoding: (available: string[], options: { preferred: string[] }) => string | undefined };

/** What the library will choose; undefined where the client accepts none of these, not even the plain text. */
export function chooseEncoding(context: Context): string | undefined {
  const negotiator: Negotiate = new Negotiator(context.req);
  return negotiator.encoding(preference, { preferred: preference });
}

/** A client that accepts nothing gets the plain text, as RFC 9110 advises; the library would fail. */
export const compression: Step = async (context, next) => {
  if (chooseEncoding(context) === undefined) context.compress = false;
  await compressed(context, next);
  if (context.method === 'HEAD') describeAsGet(context);
};

/** The library leaves HEAD alone; the headers are those of the GET, whose compressed length is not known. */
function describeAsGet(context: Context): void {
  const { length } = context.response;
  const chosen = context.get('Accept-Encoding') && chooseEncoding(context);
  if (!chosen || chosen === 'identity' || !context.body) return;
  if (length !== undefined && length < thresholdBytes) return;
  context.set('Content-Encoding', chosen);
  context.remove('Content-Length');
  context.body = Readable.from([]);
}
