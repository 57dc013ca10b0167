import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findDebianProgram } from './debian-program.ts';
import { acceptsConnections } from './ports.ts';
import type { Part } from './server.ts';

/**
 * Returns the command that runs the server. Debian 12 has Redis, of which Valkey is a fork; later releases have both.
 */
export const installValkey = (report: (line: string) => void): Promise<string[]> =>
  findDebianProgram(report, ['valkey-server', 'redis-server'], '--version');

/** A server on a loopback port that stores nothing on disk. */
export function valkeyPart(program: string[], dir: string, port: number, settings: string[] = []): Part {
  mkdirSync(dir, { recursive: true });
  const fixed = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir };
  const options = Object.entries(fixed).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const argv = [...program, ...options, ...settings];
  return {
    command: { name: 'Valkey', argv, cwd: dir, logFile: join(dir, 'valkey.log'), stopSignal: 'SIGTERM' },
    ready: () => acceptsConnections(port),
  };
}
