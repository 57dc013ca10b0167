import { writeFileSync } from 'node:fs';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generate } from 'selfsigned';
import { errorEnvelopeSchema } from '../../services/api/http/error-envelope.ts';
import type { Child } from './child.ts';
import { tokens } from './harness.ts';

type Reply = { status: number | undefined; headers: IncomingMessage['headers']; text: string };

export const ask = (
  child: Child,
  path: string,
  { secure = true, headers = {} }: { secure?: boolean; headers?: Record<string, string> } = {},
) =>
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
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
    };
    (secure ? httpsGet(options, read) : httpGet(options, read)).on('error', reject);
  });

export const codeOf = (text: string) => errorEnvelopeSchema.parse(JSON.parse(text)).error.code;
export const eventually = async (holds: () => Promise<boolean>) => {
  while (!(await holds())) await sleep(50);
};

/** A self-signed certificate and its key, as the settings that name their files. */
export async function writeCertificate(folder: string) {
  const pair = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 });
  const settings = { API_TLS_CERT: join(folder, 'cert.pem'), API_TLS_KEY: join(folder, 'key.pem') };
  writeFileSync(settings.API_TLS_CERT, pair.cert);
  writeFileSync(settings.API_TLS_KEY, pair.private);
  return settings;
}
