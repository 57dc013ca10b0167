import { counted } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import type { GenerationRegistry } from '../../../shared/control/generations.ts';
import { RebuildRefused, changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import type { LogState } from '../../projector/kafka/log-client.ts';
import { readTopicSettings, topicWarnings } from '../../projector/kafka/topic-settings.ts';
import { logOffsets, type OperatorDeps } from './deps.ts';
import { register } from './transitions.ts';

/** One condition of a start. `detail` states the finding and, if the condition does not hold, a remedy. */
export type Check = { name: string; isMet: boolean; detail: string };

const check = (name: string, good: string, problem: string | null): Check => ({
  name,
  isMet: problem === null,
  detail: problem ?? good,
});

type StartOptions = {
  /** Build even if the first records of a log are gone, or a topic is not compacted. */
  acceptTruncated: boolean;
  why: string;
};

/** A build needs this many times the space of the active generation: its own documents, and room to grow. */
const spaceFactor = 1.5;

/** Registers a new generation, if the checks hold. Returns its number and the checks. */
export async function startRebuild(
  deps: OperatorDeps,
  { acceptTruncated, why }: StartOptions,
): Promise<{ number: number; checks: Check[] }> {
  const registry = await requireRegistry(deps.control);
  const offsets = await logOffsets(deps);
  const checks = [
    await checkTopics(deps, acceptTruncated),
    checkBeginnings(offsets, acceptTruncated),
    await checkSpace(deps, registry),
    await checkRights(deps, registry),
  ];
  const failed = checks.filter(({ isMet }) => !isMet);
  if (failed.length > 0)
    throw new RebuildRefused(
      `the rebuild is not started:\n${failed.map(({ detail }) => `  ${detail}`).join('\n')}`,
    );
  // A load does not wait for an open transaction: its records are applied while the build catches up.
  const loadTo = [...offsets].map(([key, { stable }]) => ({ ...parsePartitionKey(key), end: stable }));
  const options = { loadTo, acceptTruncated };
  const cause = { by: deps.by, at: await deps.now(), why };
  const { lastNumber } = await changeRegistry(deps.control, register(cause, options));
  return { number: lastNumber, checks };
}

async function checkTopics(deps: OperatorDeps, acceptTruncated: boolean): Promise<Check> {
  const settings = await readTopicSettings(deps.admin, deps.topics);
  const warnings = topicWarnings(settings, deps.config.REBUILD_DAYS_MAX).filter(
    (warning) => !(acceptTruncated && warning.includes('is not compacted')),
  );
  return check('topics', 'compacted, and tombstones are kept for long enough', warnings.join('\n  ') || null);
}

function checkBeginnings(offsets: LogState['ends'], acceptTruncated: boolean): Check {
  const truncated = [...offsets].filter(([, { low }]) => low > 0);
  const [first] = truncated;
  const detail = first
    ? `the log of ${first[0]} begins at offset ${first[1].low} (later than 0 in ${counted(truncated.length, 'partition')}): the ` +
      'build will lack the records before it; accept that with --accept-truncated'
    : 'every log begins at offset 0';
  return { name: 'beginnings', isMet: acceptTruncated || !first, detail };
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
  if (!stats.fsTotalSize)
    return check(
      'space',
      `MongoDB does not report its free space: make sure that it has ${mb(needed)}`,
      null,
    );
  const free = stats.fsTotalSize - (stats.fsUsedSize ?? 0);
  const problem = `MongoDB has ${mb(free)} free, but the build needs ${mb(needed)}: add space first`;
  return check('space', `${mb(free)} are free, ${mb(needed)} are needed`, free >= needed ? null : problem);
}

/** Creates and removes a collection in the database of the build. */
async function checkRights(
  { mongo, config }: OperatorDeps,
  { lastNumber }: GenerationRegistry,
): Promise<Check> {
  const database = generationDatabase(mongo, config.DATABASE_NAME, lastNumber + 1);
  const name = database.databaseName;
  const problem = await database
    .collection('preflight')
    .insertOne({ at: new Date() })
    .then(() => database.collection('preflight').drop())
    .then(
      () => null,
      (error: unknown) =>
        `cannot write to ${name}; the MongoDB user needs the role readWrite there: ${errorMessage(error)}`,
    );
  return check('rights', `may write to ${name}`, problem);
}
