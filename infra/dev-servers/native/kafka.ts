import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { cacheDir, installOnce } from './cache.ts';
import {
  type KafkaCluster,
  type KafkaNode,
  kafkaVersion,
  log4j,
  pom,
  serverProperties,
} from './kafka-settings.ts';
import { acceptsConnections } from './ports.ts';
import { reportStep } from './progress.ts';
import { mustRun } from './run.ts';
import type { ServerProcess } from './server.ts';

/** The installed broker: its jars and a formatted, empty data folder that each run copies. */
export const kafkaDir = (): string => join(cacheDir(), `kafka-${kafkaVersion}`);

/** The cluster id, which is base64 of 16 bytes: `support-read-mod`. */
const clusterId = 'c3VwcG9ydC1yZWFkLW1vZA';

/** The node for which the data folder is formatted. */
const formattedNode: KafkaNode = { id: 1, broker: 9092, controller: 9093 };

/** Fetches the broker's jars with Maven. Formats the data folder once, because each run would start a JVM for it. */
export const installKafka = (report: (line: string) => void): Promise<string> =>
  installOnce(kafkaDir(), (partial) =>
    reportStep(report, `Kafka ${kafkaVersion}: fetching (about 54 MB)`, async () => {
      const libs = await fetchJars(pom, partial);
      const settings = join(partial, 'format.properties');
      writeFileSync(settings, serverProperties(join(partial, 'formatted'), formattedNode));
      const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', settings];
      await mustRun('java', ['-cp', join(libs, '*'), ...format]);
    }),
  );

/** Fetches the dependencies of a Maven project into `libs` in a folder. Returns that folder. */
export async function fetchJars(
  project: string,
  folder: string,
  scope: 'runtime' | 'compile' = 'runtime',
): Promise<string> {
  const file = join(folder, 'pom.xml');
  const libs = join(folder, 'libs');
  writeFileSync(file, project);
  const goal = ['dependency:copy-dependencies', `-DincludeScope=${scope}`, `-DoutputDirectory=${libs}`];
  await mustRun('mvn', ['-q', '-B', '-f', file, ...goal]);
  return libs;
}

/**
 * Prepares a node that is broker and controller: writes its settings and, at its first start, its data into `dir`.
 * `kafka.log` is in the same folder. Without `cluster` no other node joins.
 */
export function prepareBroker(dir: string, node: KafkaNode, cluster?: KafkaCluster): ServerProcess {
  const data = join(dir, 'data');
  const settings = join(dir, 'server.properties');
  if (!existsSync(data)) copyFormatted(data, node.id);
  writeFileSync(settings, serverProperties(data, node, cluster));
  writeFileSync(join(dir, 'log4j2.properties'), log4j);
  const argv = [
    'java',
    // A cluster runs several brokers together, each with little data.
    cluster ? '-Xmx256m' : '-Xmx512m',
    `-Djava.io.tmpdir=${codecFolder()}`,
    `-Dlog4j2.configurationFile=${join(dir, 'log4j2.properties')}`,
    '-cp',
    join(kafkaDir(), 'libs', '*'),
    'kafka.Kafka',
    settings,
  ];
  return {
    command: { name: 'Kafka', argv, cwd: dir, logFile: join(dir, 'kafka.log'), stopSignal: 'SIGTERM' },
    ready: () => brokerServes(node),
  };
}

/** The time for which unpacked codecs are kept: far longer than a broker takes to load a codec. */
const codecKeptMs = 3_600_000;

/**
 * The folder into which brokers unpack their native codecs, to load them. The cache folder contains it, because a
 * system may forbid programs in the folder of temporary files (noexec). Removes the old codecs of killed brokers.
 */
function codecFolder(): string {
  const folder = join(kafkaDir(), 'codecs');
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const unpackedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (unpackedAt < Date.now() - codecKeptMs) rmSync(file, { recursive: true, force: true });
  }
  return folder;
}

/** Copies the formatted data folder for a node, without its directory id, which must differ between nodes. */
function copyFormatted(data: string, id: number): void {
  cpSync(join(kafkaDir(), 'formatted'), data, { recursive: true });
  const metaFile = join(data, 'meta.properties');
  const lines = readFileSync(metaFile, 'utf8').split('\n');
  const kept = lines.filter((line) => !line.startsWith('directory.id='));
  writeFileSync(metaFile, kept.join('\n').replace(`node.id=${formattedNode.id}`, `node.id=${id}`));
}

/** Whether the broker has joined its cluster, and can create topics. */
async function brokerServes({ id, broker }: KafkaNode): Promise<boolean> {
  if (!(await acceptsConnections(broker))) return false;
  const admin = new Kafka({
    brokers: [`127.0.0.1:${broker}`],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
    connectionTimeout: 2_000,
    requestTimeout: 5_000,
  }).admin();
  try {
    await admin.connect();
    return (await admin.describeCluster()).brokers.some(({ nodeId }) => nodeId === id);
  } catch {
    return false;
  } finally {
    await admin.disconnect();
  }
}
