import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { promisify } from 'node:util';

/** Where the API is, whom to trust, and who asks. */
export type Access = { baseUrl: string; authority: string; token: string };

export type Answer = { status: number; dataAsOf: string | null; body: string };

const runFile = promisify(execFile);

const argumentsOf = ({ baseUrl, authority, token }: Access, path: string) => [
  '--cacert',
  authority,
  '-H',
  `Authorization: Bearer ${token}`,
  `${baseUrl}${path}`,
];

/** The request as a line for a shell. */
export const curlLine = (access: Access, path: string): string =>
  ['curl', ...argumentsOf(access, path).map((word) => (/^[\w./:-]+$/.test(word) ? word : `'${word}'`))].join(
    ' ',
  );

/** Runs the line with curl; where there is none, asks the same with Node. */
export async function runCurl(access: Access, path: string): Promise<string> {
  try {
    const { stdout } = await runFile('curl', ['-sS', ...argumentsOf(access, path)], { maxBuffer: 2 ** 28 });
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return (await ask(access, path)).body;
  }
}

/** Asks the API within 5 s, trusting the demo's authority only. */
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

/** JSON in readable form, cut after so many lines, each of a length that a terminal bears. */
export function shorten(body: string, linesMax: number): string {
  let text = body;
  try {
    text = JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    // Shown as it came.
  }
  const lines = text.split('\n');
  const shown = lines.slice(0, linesMax).map((line) => (line.length > 108 ? `${line.slice(0, 107)}…` : line));
  return lines.length > linesMax
    ? [...shown, `  … ${lines.length - linesMax} more lines`].join('\n')
    : shown.join('\n');
}
