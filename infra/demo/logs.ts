import { copyFile, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Matches `kafka.log`, but not a segment of Kafka's data, such as `00000000000000000000.log`. */
const isLog = (file: string) => /^[a-z]+(-\d+)?\.log$/.test(basename(file));

/**
 * Deletes all files of a failed demo except the logs, and moves the logs to the top of its folder. Returns their names.
 */
export async function removeAllButLogs(folder: string): Promise<string[]> {
  const files = await readdir(folder, { recursive: true });
  // The log of a server is beside its data, in a subfolder.
  const serverLogs = files.filter((file) => isLog(file) && dirname(file) !== '.');
  for (const file of serverLogs) await copyFile(join(folder, file), join(folder, basename(file)));
  const names = await readdir(folder);
  const otherNames = names.filter((name) => !isLog(name));
  for (const name of otherNames) await rm(join(folder, name), { recursive: true, maxRetries: 3 });
  return names.filter(isLog).toSorted();
}

/**
 * Picks the logs of the server whose client threw the error. The error of a service contains the end of its log, so no
 * log is picked for it.
 */
export function logsOfCause(error: unknown, names: string[]): string[] {
  const kind = error instanceof Error ? error.name : '';
  if (kind.startsWith('KafkaJS')) return names.filter((name) => name.startsWith('kafka'));
  if (kind.startsWith('Mongo')) return names.filter((name) => /^(mongod|ferretdb|postgres)/.test(name));
  return [];
}
