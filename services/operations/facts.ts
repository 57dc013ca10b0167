import { type GenerationRegistry, readRegistryOrLeftovers } from '../../shared/control/generations.ts';
import { countUnapplied } from '../../shared/control/ledger-store.ts';
import { type LostCollection, readLost } from '../../shared/control/manifest.ts';
import { readLiveReplicas, readProjectors, type Replica } from '../../shared/control/processes.ts';
import { measureBytes } from '../../shared/control/record-bytes.ts';
import type { TokenOwners } from '../../shared/keys/token-keys.ts';
import { readNoMajoritySince } from '../../shared/store/majority.ts';
import { filledPart, shareOf } from '../projector/dead-letters/byte-shares.ts';
import type { OperatorDeps } from './deps.ts';
import { type GenerationFacts, readGeneration } from './generation-facts.ts';
import { type KafkaFacts, readKafka, type UseKafka } from './kafka-facts.ts';
import { type NotCounted, readOptional } from './optional.ts';
import { readSharedTokens } from './shared-tokens.ts';

/** The answers of MongoDB and Kafka, read once. `findings` evaluates them without a further read. */
export type Facts = {
  now: Date;
  deployment: OperatorDeps['config']['DEPLOYMENT'];
  /** Null before a projector has first started, or if it was lost. */
  registry: GenerationRegistry | null;
  /** If the registry is missing: the collections and databases that still have a part of a read model. */
  leftovers: string[];
  /** The collections of the control database that are gone, or have been replaced. */
  lost: LostCollection[];
  /** The tokens that the API refuses although an active key has them; null if MongoDB did not count them. */
  sharedTokens: TokenOwners[] | null;
  /** The generations that are not dropped. */
  generations: GenerationFacts[];
  kafka: KafkaFacts;
  replicas: Replica[];
  /** The last write that a majority of MongoDB's members confirmed; null if they confirm writes, or if unknown. */
  noMajoritySince: Date | null;
  /** The number of dead letters that some generation has not applied; null if MongoDB did not count them. */
  deadLetters: number | null;
  /**
   * The used part of the fullest share, from 0 to 1: each topic has a share of `DEAD_LETTER_MEGABYTES_MAX`. Null if
   * MongoDB did not sum the bytes.
   */
  deadLetterBytesFilled: number | null;
  /** The parts that MongoDB refused to count. */
  notCounted: NotCounted[];
};

/** `status` and the console wait this long for Kafka, in milliseconds, and then show only the facts of MongoDB. */
const kafkaTimeoutToShowMs = 3_000;
/** A verb that changes something waits longer for Kafka, because a slow answer must not refuse a step. */
const kafkaTimeoutToActMs = 30_000;
/** MongoDB may sum the bytes of dead letters for this long, in milliseconds. */
const measureTimeoutMs = 500;

type FactDeps = Pick<OperatorDeps, 'control' | 'config' | 'topics' | 'now'>;

/** Reads the facts. The rates of `Facts` are computed against the previous reading. */
export type ReadFacts = (previous: Facts | null) => Promise<Facts>;

/** Reads the facts for a verb that acts on them. The clients of Kafka in `deps` are connected. */
export const readFactsToAct = (deps: OperatorDeps, previous: Facts | null = null): Promise<Facts> =>
  readFacts(deps, (work) => work(deps), previous, kafkaTimeoutToActMs);

/** Reads the facts to show them. Rejects only if MongoDB does not answer. */
export async function readFacts(
  deps: FactDeps,
  useKafka: UseKafka,
  previous: Facts | null,
  kafkaTimeoutMs = kafkaTimeoutToShowMs,
): Promise<Facts> {
  const { control, config } = deps;
  const { registry, leftovers } = await readRegistryOrLeftovers(control);
  const undropped = registry?.generations.filter(({ state }) => state !== 'dropped') ?? [];
  const kafka = await readKafka(deps, useKafka, undropped, kafkaTimeoutMs);
  const now = await deps.now();
  const projectors = await readProjectors(control);
  const notCounted: NotCounted[] = [];
  const shared = { registry, projectors, kafka, now, earlier: previous, notCounted };
  const countDeadLetters = async (): Promise<number> => {
    let count = 0;
    for (const unapplied of await countUnapplied(control)) count += unapplied.count;
    return count;
  };
  const measureFilled = async (): Promise<number> => {
    const bytes = await measureBytes(control, { maxTimeMS: measureTimeoutMs });
    return filledPart(bytes, shareOf(config.DEAD_LETTER_MEGABYTES_MAX, deps.topics));
  };
  const findSharedTokens = () => readSharedTokens(control, config.DATABASE_NAME, registry);
  const [generations, noMajoritySince, replicas, lost, deadLetters, deadLetterBytesFilled, sharedTokens] =
    await Promise.all([
      Promise.all(undropped.map((generation) => readGeneration(deps, shared, generation))),
      readNoMajoritySince(control),
      readLiveReplicas(control, now),
      readLost(control, registry?.manifest),
      readOptional(notCounted, 'dead letters', countDeadLetters),
      readOptional(notCounted, 'the bytes of the dead letters', measureFilled),
      readOptional(notCounted, 'tokens of several keys', findSharedTokens),
    ]);
  return {
    now,
    deployment: config.DEPLOYMENT,
    registry,
    leftovers,
    lost,
    sharedTokens,
    generations,
    kafka,
    replicas,
    noMajoritySince,
    deadLetters,
    deadLetterBytesFilled,
    notCounted,
  };
}
