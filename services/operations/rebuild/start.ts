import { type GenerationRegistry, RebuildRefused } from '../../../shared/control/generations.ts';
import { describeGaps, readLogGaps } from '../../../shared/control/log-gaps.ts';
import { type Progress, progressOf } from '../../../shared/control/progress.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import type { LogState } from '../../../shared/kafka/log-client.ts';
import { isRebuildRisk, readTopicSettings, topicWarnings } from '../../../shared/kafka/topic-settings.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import { generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import { runCommand } from '../../../shared/store/run-command.ts';
import { commandsIn } from '../deployment.ts';
import type { OperatorDeps } from '../deps.ts';
import { isUnpinned } from '../generation-facts.ts';
import { unpinned } from '../rules/generation.ts';
import { leaderless } from '../rules/system.ts';
import { register } from './transitions.ts';

type StartOptions = {
  /** Build even if records of a log are gone, or a topic is not compacted. */
  acceptTruncated?: boolean | undefined;
  why: string;
};

/** A build needs this many times the space of the active generation: its own documents, and room to grow. */
const spaceFactor = 1.5;

/**
 * Registers a new generation and returns its number. Throws MongoDB's error if this user may not write to its database,
 * and `RebuildRefused` with each other problem and its remedy.
 */
export async function startRebuild(deps: OperatorDeps, { acceptTruncated = false, why }: StartOptions) {
  await deps.onStep?.('check');
  const registry = await requireRegistry(deps.control);
  const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, registry.lastNumber + 1);
  await requireWritable(database.collection('preflight'));
  const log = await deps.log.read(deps.topics);
  const { ends: offsets } = log;
  const unled = leaderless(log);
  const applied = await progressOf(deps.control).find({ generation: registry.generation }).toArray();
  const settings = await readTopicSettings(deps.admin, deps.topics);
  const warnings = topicWarnings(settings, deps.config.REBUILD_DAYS_MAX).filter(({ risk }) =>
    isRebuildRisk(risk, acceptTruncated),
  );
  const problems = warnings.map(({ text }) => text);
  if (unled !== null) problems.push(`${unled}: mend the brokers first`);
  if (!acceptTruncated) {
    problems.push(...truncatedLogs(offsets));
    problems.push(...(await lostRecords(deps, registry, applied, offsets)));
  }
  problems.push(...(await missingSpace(deps, registry)));
  if (problems.length > 0)
    throw new RebuildRefused(
      'the rebuild is not started:',
      null,
      problems.map((one) => `  ${one}`),
    );
  // A load does not wait for an open transaction: its records are applied while the build catches up.
  const loadTo = [...offsets].map(([key, { low, stable }]) => ({
    ...parsePartitionKey(key),
    low,
    end: stable,
  }));
  const cause = { by: deps.by, at: await deps.now(), why };
  await deps.onStep?.('register');
  const { lastNumber } = await changeRegistry(deps.control, register(cause, { loadTo, acceptTruncated }));
  if (isUnpinned(applied, cause.at)) {
    const { text, remedy } = unpinned(registry.generation, commandsIn[deps.config.DEPLOYMENT]);
    deps.report(`before the promotion: ${text}: ${remedy}`);
  }
  return lastNumber;
}

function truncatedLogs(offsets: LogState['ends']): string[] {
  const truncated = [...offsets].filter(([, { low }]) => low > 0);
  const [first] = truncated;
  if (!first) return [];
  const [key, { low }] = first;
  return [
    `the log of ${key} begins at offset ${low} (later than 0 in ${counted(truncated.length, 'partition')}): the ` +
      'build will lack the records before it; accept that with --accept-truncated',
  ];
}

/** Records that the active generation has applied and that its log has lost: a build cannot read them again. */
async function lostRecords(
  { control }: OperatorDeps,
  { generation }: GenerationRegistry,
  applied: Progress[],
  offsets: LogState['ends'],
): Promise<string[]> {
  const lack =
    'the build will lack records that the read model still has; restore them, or accept that with --accept-truncated';
  const gaps = (await readLogGaps(control, generation)).filter(({ kind }) => kind !== 'deleted');
  if (gaps.length > 0) return [`${describeGaps(gaps)}: ${lack}`];
  const shortened = applied.filter(
    (one) => one.applied.position > (offsets.get(partitionKey(one))?.end ?? Infinity),
  );
  const [first] = shortened;
  if (!first) return [];
  const key = partitionKey(first);
  return [
    `the log of ${key} ends at offset ${offsets.get(key)?.end}, but generation ${generation} has applied offset ` +
      `${first.applied.position - 1} (such logs: ${shortened.length}): ${lack}`,
  ];
}

type SpaceStats = { storageSize: number; indexSize?: number; fsTotalSize?: number; fsUsedSize?: number };

async function missingSpace({ mongo, config, report }: OperatorDeps, { generation }: GenerationRegistry) {
  const active = generationDatabase(mongo, config.DATABASE_NAME, generation);
  const stats = (await runCommand(active, { dbStats: 1 })) as SpaceStats;
  const needed = (stats.storageSize + (stats.indexSize ?? 0)) * spaceFactor;
  const mb = (bytes: number) => `${Math.ceil(bytes / 1_048_576)} MB`;
  if (!stats.fsTotalSize) {
    report(`MongoDB does not report its free space: make sure that it has ${mb(needed)}`);
    return [];
  }
  const free = stats.fsTotalSize - (stats.fsUsedSize ?? 0);
  if (free >= needed) return [];
  return [`MongoDB has ${mb(free)} free, but the build needs ${mb(needed)}: add space first`];
}
