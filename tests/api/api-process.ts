import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { tiedToParent } from '../../infra/dev-servers/tied-to-parent.ts';
import { specFor } from '../../services/api/openapi/spec-for.ts';
import { documented, type HoldToDocument } from '../support/documented.ts';

export type LogLine = Record<string, unknown> & { msg?: string };

export type Child = {
  pid: number;
  port: number;
  lines: LogLine[];
  holdToDocument: HoldToDocument;
  /** What it wrote to stderr, where nothing belongs. */
  complaints: () => string;
  /** Resident memory of the process, in bytes. */
  residentBytes: () => number;
  /** Ends it as a platform would; gives the exit code. */
  stop: () => Promise<number | null>;
};

const entry = join(__dirname, '../../services/api/main.ts');

/** The API as a process of its own, with these settings alone; resolves when it listens. */
export async function startChild(settings: Record<string, string>): Promise<Child> {
  const [file = '', ...args] = [...tiedToParent(), process.execPath, entry];
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH, API_HOST: '127.0.0.1', API_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: LogLine[] = [];
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString();
    process.stderr.write(chunk);
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const port = await new Promise<number>((resolve, reject) => {
    void exited.then((code) => reject(new Error(`the API exited with ${code}`)));
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text) as LogLine;
      lines.push(line);
      if (line.msg === 'listening') resolve(line.port as number);
    });
  });
  const pid = child.pid ?? 0;
  return {
    pid,
    port,
    lines,
    complaints: () => complaints,
    holdToDocument: documented(specFor(settings)),
    residentBytes: () => {
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      return Number(kilobytes) * 1_024;
    },
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

/** Runs the API until it exits by itself; gives its code and what it said on stderr. */
export async function runToExit(
  settings: Record<string, string>,
): Promise<{ code: number | null; errors: string }> {
  const child = spawn(process.execPath, [entry], { env: { PATH: process.env.PATH, ...settings } });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  return { code, errors };
}
