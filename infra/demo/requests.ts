import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { promisify } from 'node:util';
import { counted } from '../../shared/runtime/counted.ts';
import type { Output } from './output.ts';

/** The API's address, the certificate authority to trust, and the API key. */
export type Access = { baseUrl: string; authority: string; token: string };

type Answer = { status: number; dataAsOf: string | null; body: string };

const runFile = promisify(execFile);

const argumentsOf = ({ baseUrl, authority, token }: Access, path: string) => [
  '--cacert',
  authority,
  '-H',
  `Authorization: Bearer ${token}`,
  `${baseUrl}${path}`,
];

/** The request as a curl command for a shell. */
export const curlLine = (access: Access, path: string): string =>
  shellLine(['curl', ...argumentsOf(access, path)]);

/** Words as a line for a shell. None of them contains a single quote. */
export const shellLine = (words: string[]): string =>
  words.map((word) => (/^[\w.,/:=-]+$/.test(word) ? word : `'${word}'`)).join(' ');

/** Demonstrates the API: prints three requests as curl commands, each with its response. */
export async function showTour(access: Access, output: Output): Promise<void> {
  const show = (path: string) => {
    output.say('');
    return showRequest(access, path, output, 20);
  };
  const tickets = await show('/v1/tickets?status=open&status=snoozed&limit=2');
  const conversation = tickets.match(/"conv_[^"]+"/)?.[0].slice(1, -1);
  if (!conversation) throw new Error('no ticket in the list has a conversation');
  await show(`/v1/conversations/${conversation}`);
  await show('/v1/channels?limit=3');
}

/** Prints a request as a curl command with the first lines of its response. Returns the response. */
export async function showRequest(
  access: Access,
  path: string,
  output: Output,
  linesMax: number,
): Promise<string> {
  output.always(curlLine(access, path));
  const body = await runCurl(access, path);
  if (!body.startsWith('{"') || body.startsWith('{"error"'))
    throw new Error(`the API answered: ${shorten(body, 5)}`);
  output.say(shorten(body, linesMax));
  return body;
}

/** Runs the request with curl, or with Node if curl is not installed. */
async function runCurl(access: Access, path: string): Promise<string> {
  try {
    const { stdout } = await runFile('curl', ['-sS', ...argumentsOf(access, path)], { maxBuffer: 2 ** 28 });
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return (await ask(access, path)).body;
  }
}

/** Sends a request to the API, with a timeout of 5 s. Trusts only the demo's authority. */
export async function ask({ baseUrl, authority, token }: Access, path: string): Promise<Answer> {
  const ca = await readFile(authority);
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(5_000);
    httpsRequest(`${baseUrl}${path}`, { ca, headers, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const asOf = response.headers['data-as-of'];
        const dataAsOf = typeof asOf === 'string' ? asOf : null;
        resolve({ status: response.statusCode ?? 0, dataAsOf, body: Buffer.concat(chunks).toString() });
      });
    })
      .on('error', reject)
      .end();
  });
}

/** Formats JSON and cuts it after `linesMax` lines of at most 108 characters. */
export function shorten(body: string, linesMax: number): string {
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Not JSON: printed unchanged.
  }
  const lines = text.split('\n');
  const kept = lines.slice(0, linesMax).map((line) => (line.length > 108 ? `${line.slice(0, 107)}…` : line));
  return lines.length > linesMax
    ? [...kept, `  … ${counted(lines.length - linesMax, 'more line')}`].join('\n')
    : kept.join('\n');
}
