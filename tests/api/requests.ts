import { writeFileSync } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { errorEnvelopeSchema } from '../../services/api/http/error-envelope.ts';
import type { ApiProcess } from './api-process.ts';
import { tokens } from './test-api.ts';

type Reply = { status: number; headers: IncomingMessage['headers']; text: string };

type Options = { secure?: boolean; headers?: Record<string, string> };

/** Sends a request with organization a's key. The answer must match the OpenAPI document. */
export async function ask(child: ApiProcess, path: string, options: Options = {}): Promise<Reply> {
  const reply = await send(child, path, options);
  const headers = Object.entries(reply.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  child.holdToDocument({ method: 'GET', path, ...reply, headers });
  return reply;
}

const send = (child: ApiProcess, path: string, { secure = true, headers = {} }: Options) =>
  new Promise<Reply>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port: child.port,
      path,
      agent: false,
      rejectUnauthorized: false,
      headers: { Authorization: `Bearer ${tokens.a}`, ...headers },
    };
    const read = (response: IncomingMessage) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    };
    (secure ? httpsGet(options, read) : httpGet(options, read)).on('error', reject);
  });

export const codeOf = (text: string) => errorEnvelopeSchema.parse(JSON.parse(text)).error.code;

/** Writes a self-signed certificate and its key; returns the settings that name their files. */
export async function writeCertificate(folder: string) {
  const pair = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 });
  const settings = { API_TLS_CERT: join(folder, 'cert.pem'), API_TLS_KEY: join(folder, 'key.pem') };
  writeFileSync(settings.API_TLS_CERT, pair.cert);
  writeFileSync(settings.API_TLS_KEY, pair.private);
  return settings;
}
