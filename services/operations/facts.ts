import { type GenerationRegistry, readRegistry } from '../../shared/control/generations.ts';
import { countUnapplied } from '../../shared/control/ledger-store.ts';
import { findReadModel, type LostCollection, readLost } from '../../shared/control/manifest.ts';
import { liveReplicas, readProjectors, type Replica } from '../../shared/control/processes.ts';
import { measureBytes } from '../../shared/control/record-bytes.ts';
import type { TokenKeys } from '../../shared/keys/token-keys.ts';
import { readNoMajoritySince } from '../../shared/store/majority.ts';
import { filledPart, shareOf } from '../projector/dead-letters/byte-shares.ts';
import type { OperatorDeps } from './deps.ts';
import { type GenerationFacts, readGeneration } from './generation-facts.ts';
import { type KafkaFacts, readKafka, type UseKafka } from './kafka-facts.ts';
import { type NotCounted, optional } from './optional.ts';
import { readSharedTokens } from './shared-tokens.ts';

/** Everything that findings report to an operator, read once. `findings` evaluates it. */
export type Facts = {
  now: Date;
  deployment: OperatorDeps['config']['DEPLOYMENT'];
  /** Null before a projector has first started, or if it was lost. */
  registry: GenerationRegistry | null;
  /** Where something of a read model is left without a registry; empty if there is a registry. */
  leftovers: string[];
  /** The collections of the control database that are gone, or are other ones. */
  lost: LostCollection[];
  /** The tokens of the active generation that are refused although an active key has them; null: not counted. */
  sharedTokens: TokenKeys[] | null;
  /** The generations that are not dropped. */
  generations: GenerationFacts[];
  kafka: KafkaFacts;
  replicas: Replica[];
  /**
   * Since when a majority of MongoDB's members has confirmed no write; null if one does, or if MongoDB does not report
   * it.
   */
  noMajoritySince: Date | null;
  /** The dead letters that stand unapplied in any generation; null: not counted. */
  deadLetters: number | null;
  /** The part of its share that the bytes of dead letters take, of the topic that takes most; null: not counted. */
  deadLetterBytesFilled: number | null;
  /** The parts that MongoDB refused to count. */
  notCounted: NotCounted[];
};

/** A page or a status waits this long for Kafka, in milliseconds. After that it shows the facts of MongoDB alone. */
const shownWithinMs = 3_000;
/** MongoDB may sum the bytes of dead letters for this long, in milliseconds. */
const measureTimeoutMs = 500;
/** A verb that acts on the facts waits longer: a slow answer must refuse no step. */
const actedWithinMs = 30_000;

type FactDeps = Pick<OperatorDeps, 'control' | 'config' | 'topics' | 'now'>;

/** Reads the facts; `before` are earlier ones, for rates. */
export type ReadFacts = (before: Facts | null) => Promise<Facts>;

/** Reads the facts, to act on them, with connected clients of Kafka. `before` are earlier facts, for rates. */
export const factsNow = (deps: OperatorDeps, before: Facts | null = null): Promise<Facts> =>
  readFacts(deps, (work) => work(deps), before, actedWithinMs);

/** Reads the facts, to show them. Rejects only if MongoDB does not answer. */
export async function readFacts(
  deps: FactDeps,
  useKafka: UseKafka,
  before: Facts | null,
  kafkaWithinMs = shownWithinMs,
): Promise<Facts> {
  const { control, config } = deps;
  const registry = await readRegistry(control);
  const leftovers = registry ? [] : await findReadModel(control);
  const living = registry?.generations.filter(({ state }) => state !== 'dropped') ?? [];
  const kafka = await readKafka(deps, useKafka, living, kafkaWithinMs);
  const now = await deps.now();
  const projectors = await readProjectors(control);
  const notCounted: NotCounted[] = [];
  const shareBytes = shareOf(config.DEAD_LETTER_MEGABYTES_MAX, deps.topics);
  const facts = await named({
    generations: Promise.all(
      living.map((one) =>
        readGeneration(deps, { registry, projectors, kafka, now, before, notCounted }, one),
      ),
    ),
    noMajoritySince: readNoMajoritySince(control),
    replicas: liveReplicas(control, now),
    deadLetters: optional(notCounted, 'dead letters', async () =>
      (await countUnapplied(control)).reduce((sum, { count }) => sum + count, 0),
    ),
    deadLetterBytesFilled: optional(notCounted, 'the bytes of the dead letters', async () =>
      filledPart(await measureBytes(control, { maxTimeMS: measureTimeoutMs }), shareBytes),
    ),
    lost: readLost(control, registry?.manifest),
    sharedTokens: optional(notCounted, 'tokens of several keys', () =>
      readSharedTokens(control, config.DATABASE_NAME, registry),
    ),
  });
  return { ...facts, now, deployment: config.DEPLOYMENT, registry, leftovers, kafka, notCounted };
}

/** Awaits the values of an object, all at once. */
async function named<T extends Record<string, Promise<unknown>>>(readings: T) {
  const values = await Promise.all(Object.values(readings));
  const entries = Object.keys(readings).map((key, index) => [key, values[index]]);
  return Object.fromEntries(entries) as { [K in keyof T]: Awaited<T[K]> };
}
