import { type Agent, get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import { text as textOf } from 'node:stream/consumers';
import { errorEnvelopeSchema } from '../../services/api/http/error-envelope.ts';
import type { AssertDocumented } from '../support/documented.ts';
import { tokens } from './test-api.ts';

/** An API that listens on this host. */
export type Target = { port: number; isTls: boolean; assertDocumented: AssertDocumented };

type Options = {
  /** Whether to use TLS; by default, true if the process has a certificate. */
  secure?: boolean;
  headers?: Record<string, string>;
  /** By default the request has a connection of its own. */
  agent?: Agent | false;
};

/**
 * Sends a request with organization a's key and resolves with the response, whose body is unread. Plain HTTP says that
 * a proxy terminated TLS.
 */
export const begin = (
  target: Pick<Target, 'port' | 'isTls'>,
  path: string,
  { secure = target.isTls, headers = {}, agent = false }: Options = {},
) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: target.port,
      path,
      agent,
      rejectUnauthorized: false,
      headers: { Authorization: `Bearer ${tokens.a}`, 'X-Forwarded-Proto': 'https', ...headers },
    };
    const get = secure ? httpsGet : httpGet;
    get(options, resolve).on('error', reject);
  });

/** Sends a request and reads the answer, which must match the OpenAPI document. */
export async function ask(target: Target, path: string, options: Options = {}) {
  const response = await begin(target, path, options);
  const { statusCode: status = 0, headers } = response;
  const text = await textOf(response);
  const received = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  target.assertDocumented({ method: 'GET', path, status, headers: received, text });
  return { status, headers, text };
}

export const codeOf = (text: string) => errorEnvelopeSchema.parse(JSON.parse(text)).error.code;
