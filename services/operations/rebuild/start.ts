import { generationDatabase } from '../../../shared/store/connection.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import type { GenerationRegistry } from '../../../shared/store/generations.ts';
import { readTopicSettings, topicWarnings } from '../../projector/kafka/topic-settings.ts';
import { parsePartitionKey } from '../../projector/kafka/topic-partition.ts';
import type { Check } from './checks.ts';
import { logOffsets, type LogOffsets, type OperatorDeps } from './measure.ts';
import {
  RebuildRefused,
  changeRegistry,
  requireRegistry,
  register,
} from '../../projector/generations/registry.ts';

export type StartOptions = {
  /** Build although the log does not begin at its beginning. */
  acceptTruncated: boolean;
  /** Records a second of each projector at most. */
  pace?: number | undefined;
  why: string;
};

/** A build needs this many times the space of the active generation: its own documents, and room to grow. */
const spaceFactor = 1.5;

/** Registers a new generation after the preflight checks. Returns its number and what was checked. */
export async function startRebuild(
  deps: OperatorDeps,
  { acceptTruncated, pace, why }: StartOptions,
): Promise<{ number: number; checks: Check[] }> {
  const registry = await requireRegistry(deps.control);
  const offsets = await logOffsets(deps);
  const checks = await preflight(deps, registry, offsets, acceptTruncated);
  const failed = checks.filter(({ isMet }) => !isMet);
  if (failed.length > 0)
    throw new RebuildRefused(
      `the rebuild is not started:\n${failed.map(({ detail }) => `  ${detail}`).join('\n')}`,
    );
  const loadTo = [...offsets].map(([key, { end }]) => ({ ...parsePartitionKey(key), end }));
  const options = { loadTo, acceptTruncated, ...(pace !== undefined && { pace }) };
  const changed = await changeRegistry(
    deps.control,
    register({ by: deps.by, at: await deps.now(), why }, options),
  );
  return { number: changed.lastNumber, checks };
}

async function preflight(
  deps: OperatorDeps,
  registry: GenerationRegistry,
  offsets: LogOffsets,
  acceptTruncated: boolean,
): Promise<Check[]> {
  const [settings, space, rights] = await Promise.all([
    checkTopics(deps, acceptTruncated),
    checkSpace(deps, registry),
    checkRights(deps, registry),
  ]);
  return [settings, checkBeginnings(offsets, acceptTruncated), space, rights];
}

async function checkTopics(deps: OperatorDeps, acceptTruncated: boolean): Promise<Check> {
  const settings = await readTopicSettings(deps.admin, deps.topics);
  const warnings = topicWarnings(settings, deps.config.REBUILD_DAYS_MAX).filter(
    (warning) => !(acceptTruncated && warning.includes('is not compacted')),
  );
  const detail = warnings.join('\n  ') || 'compacted, and tombstones are kept for long enough';
  return { name: 'topics', isMet: warnings.length === 0, detail };
}

function checkBeginnings(offsets: LogOffsets, acceptTruncated: boolean): Check {
  const truncated = [...offsets].filter(([, { low }]) => low > 0);
  const [first] = truncated;
  return {
    name: 'beginnings',
    isMet: acceptTruncated || !first,
    detail: first
      ? `the log of ${first[0]} begins at offset ${first[1].low} (${truncated.length} partitions do not begin at 0): the ` +
        'records before it are not in the build; accept that with --accept-truncated'
      : 'every log begins at offset 0',
  };
}

type SpaceStats = { storageSize: number; indexSize?: number; fsTotalSize?: number; fsUsedSize?: number };

async function checkSpace(
  { mongo, config }: OperatorDeps,
  { generation }: GenerationRegistry,
): Promise<Check> {
  const active = generationDatabase(mongo, config.DATABASE_NAME, generation);
  const stats = (await active.command({ dbStats: 1 })) as SpaceStats;
  const needed = (stats.storageSize + (stats.indexSize ?? 0)) * spaceFactor;
  const mb = (bytes: number) => `${Math.ceil(bytes / 1_048_576)} MB`;
  const space = (isMet: boolean, detail: string): Check => ({ name: 'space', isMet, detail });
  if (!stats.fsTotalSize)
    return space(true, `MongoDB does not report its free space: make sure that it has ${mb(needed)}`);
  const free = stats.fsTotalSize - (stats.fsUsedSize ?? 0);
  if (free >= needed) return space(true, `${mb(free)} are free, ${mb(needed)} are needed`);
  return space(false, `MongoDB has ${mb(free)} free, but the build needs ${mb(needed)}: add space first`);
}

/** Creates and removes a collection in the database that the build will get. */
async function checkRights(
  { mongo, config }: OperatorDeps,
  { lastNumber }: GenerationRegistry,
): Promise<Check> {
  const database = generationDatabase(mongo, config.DATABASE_NAME, lastNumber + 1);
  try {
    await database.collection('preflight').insertOne({ at: new Date() });
    await database.collection('preflight').drop();
    return { name: 'rights', isMet: true, detail: `may write to ${database.databaseName}` };
  } catch (error) {
    const detail = `cannot write to ${database.databaseName}; its user needs the role readWrite there: ${errorMessage(error)}`;
    return { name: 'rights', isMet: false, detail };
  }
}
