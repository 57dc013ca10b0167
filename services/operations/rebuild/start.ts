import { type GenerationRegistry, RebuildRefused } from '../../../shared/control/generations.ts';
import { isUnpinned, projectorsOf, readProjectors } from '../../../shared/control/processes.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import { isRebuildRisk, readTopicSettings, topicWarnings } from '../../../shared/kafka/topic-settings.ts';
import { generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import { runCommand } from '../../../shared/store/run-command.ts';
import { readAcceptableLackingRecords } from '../accept/lacking-records.ts';
import { acceptCommand, commandsIn } from '../deployment.ts';
import type { OperatorDeps } from '../deps.ts';
import { unpinnedFinding } from '../rules/generation.ts';
import { leaderlessText } from '../rules/system.ts';
import { register } from './transitions.ts';

/** A build needs this many times the space of the active generation: for its documents, and for their growth. */
const spaceFactor = 1.5;

/**
 * Registers a new generation and returns its number. Throws MongoDB's error if this user may not write to its database,
 * and `RebuildRefused` with each other problem and its fix.
 */
export async function startRebuild(deps: OperatorDeps, { why }: { why: string }) {
  await deps.onStep?.('check');
  const registry = await requireRegistry(deps.control);
  const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, registry.lastNumber + 1);
  await requireWritable(database.collection('preflight'));
  const log = await deps.log.read(deps.topics);
  const settings = await readTopicSettings(deps.admin, deps.topics);
  const problems = topicWarnings(settings).flatMap(({ risk, text }) => (isRebuildRisk(risk) ? [text] : []));
  const unreadable = leaderlessText(log);
  if (unreadable !== null) problems.push(`${unreadable}: repair the brokers first`);
  problems.push(...(await missingSpace(deps, registry)));
  const { seen } = await readAcceptableLackingRecords(deps, registry.generation);
  const commands = commandsIn[deps.config.DEPLOYMENT];
  const acceptance = `restore the records, or accept it: ${acceptCommand(commands, 'truncated', registry.generation)}`;
  const lacks = seen.length === 0 ? [] : [...seen, acceptance];
  if (problems.length + lacks.length > 0)
    throw new RebuildRefused(
      'the rebuild is not started:',
      null,
      [...problems, ...lacks].map((problem) => `  ${problem}`),
    );
  // A load ends before the records of an open transaction, which the build applies while it catches up.
  const loadTo = [...log.ends].map(([key, { low, stable }]) => ({
    ...parsePartitionKey(key),
    low,
    end: stable,
  }));
  const cause = { by: deps.by, at: await deps.now(), why };
  await deps.onStep?.('register');
  const { lastNumber } = await changeRegistry(deps.control, register(cause, { loadTo }));
  const { generation: active } = registry;
  const projectors = projectorsOf(await readProjectors(deps.control), active, active);
  if (isUnpinned(projectors, cause.at)) {
    const { text, fix } = unpinnedFinding(active, commands);
    deps.report(`before the promotion: ${text}: ${fix}`);
  }
  return lastNumber;
}

const bytesPerMegabyte = 1024 * 1024;

type SpaceStats = { storageSize: number; indexSize?: number; fsTotalSize?: number; fsUsedSize?: number };

/** The problem that MongoDB has too little free space; empty if it has enough, or does not report it. */
async function missingSpace({ mongo, config, report }: OperatorDeps, { generation }: GenerationRegistry) {
  const active = generationDatabase(mongo, config.DATABASE_NAME, generation);
  const stats = (await runCommand(active, { dbStats: 1 })) as SpaceStats;
  const neededBytes = (stats.storageSize + (stats.indexSize ?? 0)) * spaceFactor;
  const mb = (bytes: number) => `${Math.ceil(bytes / bytesPerMegabyte)} MB`;
  if (!stats.fsTotalSize) {
    report(`MongoDB does not report its free space: make sure that it has ${mb(neededBytes)}`);
    return [];
  }
  const freeBytes = stats.fsTotalSize - (stats.fsUsedSize ?? 0);
  if (freeBytes >= neededBytes) return [];
  return [`MongoDB has ${mb(freeBytes)} free, but the build needs ${mb(neededBytes)}: add space first`];
}
