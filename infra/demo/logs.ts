import { copyFile, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Matches `kafka.log`, but not a segment of Kafka's data, such as `00000000000000000000.log`. */
const isLog = (file: string) => /^[a-z]+(-\d+)?\.log$/.test(basename(file));

/**
 * Removes everything from the folder of a failed demo but the logs of its services and servers. Returns their names.
 */
export async function keepLogs(folder: string): Promise<string[]> {
  // The logs of the servers are beside their data.
  const serverFiles = (await readdir(folder, { recursive: true })).filter((file) => file.includes('/'));
  for (const file of serverFiles.filter(isLog))
    await copyFile(join(folder, file), join(folder, basename(file)));
  const kept: string[] = [];
  for (const name of await readdir(folder)) {
    if (isLog(name)) kept.push(name);
    else await rm(join(folder, name), { recursive: true, maxRetries: 3 });
  }
  return kept.sort();
}

/** Picks the logs of the server whose client threw the error. The error of a service already has the end of its log. */
export function logsOfCause(error: unknown, names: string[]): string[] {
  const kind = error instanceof Error ? error.name : '';
  if (kind.startsWith('KafkaJS')) return names.filter((name) => name.startsWith('kafka'));
  if (kind.startsWith('Mongo')) return names.filter((name) => /^(mongod|ferretdb|postgres)/.test(name));
  return [];
}
