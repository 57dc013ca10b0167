import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { findDebianProgram } from './debian-program.ts';
import { acceptsConnections } from './ports.ts';
import type { ServerProcess } from './server.ts';

/**
 * Returns the command that runs the server. Debian 12 has Redis, of which Valkey is a fork; later releases have both.
 */
export const installValkey = (report: (line: string) => void): Promise<string[]> =>
  findDebianProgram(report, ['valkey-server', 'redis-server'], '--version');

/** Creates the folder of a server on a loopback port. The server stores no data on disk. */
export function prepareValkey(
  program: string[],
  dir: string,
  port: number,
  settings: string[] = [],
): ServerProcess {
  mkdirSync(dir, { recursive: true });
  const fixed = { port, bind: '127.0.0.1', save: '', appendonly: 'no', dir };
  const options = Object.entries(fixed).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const argv = [...program, ...options, ...settings];
  return {
    command: { name: 'Valkey', argv, cwd: dir, logFile: join(dir, 'valkey.log'), stopSignal: 'SIGTERM' },
    ready: () => acceptsConnections(port),
  };
}
