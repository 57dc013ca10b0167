import { type Db, MongoServerError } from 'mongodb';
import { createBlocksMarker, findBlocksMarker } from '../../../shared/control/blocked-keys.ts';
import {
  type GenerationRegistry,
  generationsOf,
  readRegistry,
  RebuildRefused,
} from '../../../shared/control/generations.ts';
import type { LedgerSpan } from '../../../shared/control/ledger.ts';
import { ledgerOf } from '../../../shared/control/ledger-store.ts';
import { progressOf, watermark } from '../../../shared/control/progress.ts';
import { numbersOf, readRemains } from '../../../shared/control/remains.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { hasDocuments } from '../../../shared/store/generation-databases.ts';
import type { OperatorDeps } from '../deps.ts';
import type { UseKafka } from '../kafka-facts.ts';
import { type RemainingGeneration, type RestoreChoices, restoredRegistry } from './restored-registry.ts';

export type RestoreOptions = RestoreChoices & {
  /** The operator has blocked the leaked keys again, or knows that there are none. */
  acceptLostBlocks: boolean;
  dryRun: boolean;
  why: string;
};

type RestoreDeps = Pick<OperatorDeps, 'control' | 'config' | 'now' | 'by' | 'report'> & {
  useKafka: UseKafka;
};

/**
 * Makes the registry again from the remains of a read model, by one insert, and returns both. Throws `RebuildRefused`
 * if there is a registry, if nothing fits the operator's choices, or if the blocked keys are lost too and that is not
 * accepted.
 */
export async function restoreRegistry(deps: RestoreDeps, options: RestoreOptions) {
  const { control, by, now } = deps;
  // First: while the clients of Kafka still connect, they cannot be closed.
  const groups = await numbersOfGroups(deps);
  if (await readRegistry(control)) throw existing();
  const remaining = await readRemaining(control);
  if (remaining.length === 0)
    throw new RebuildRefused('there is no read model under this DATABASE_NAME: check it');
  const used = [...groups, ...(await numbersOfDeadLetters(control))];
  const cause = { by, at: await now(), why: options.why };
  const registry = restoredRegistry(remaining, used, options, cause);
  if (!options.acceptLostBlocks && !(await findBlocksMarker(control)))
    throw new RebuildRefused(
      'the collection blocked_keys has no marker: it was lost too, or an earlier release made it. Restore it from a ' +
        'backup, or accept with --accept-lost-blocks that the keys in it work until they are blocked again',
    );
  if (options.dryRun) return { remaining, registry };
  await createBlocksMarker(control, cause);
  await insert(control, registry);
  return { remaining, registry };
}

const existing = () => new RebuildRefused('there is a registry, and nothing to restore', 'rebuild status');

async function insert(control: Db, registry: GenerationRegistry): Promise<void> {
  try {
    await generationsOf(control).insertOne(registry);
  } catch (error) {
    if (error instanceof MongoServerError && error.code === 11_000) throw existing();
    throw error;
  }
}

async function readRemaining(control: Db): Promise<RemainingGeneration[]> {
  const numbers = numbersOf(await readRemains(control));
  return Promise.all(numbers.map((number) => readGeneration(control, number)));
}

async function readGeneration(control: Db, number: number): Promise<RemainingGeneration> {
  const progress = await progressOf(control).find({ generation: number }).toArray();
  const instants = progress.map(({ completeTo }) => completeTo).sort((a, b) => Number(a) - Number(b));
  const saved = progress.map(({ updatedAt }) => updatedAt).sort((a, b) => Number(b) - Number(a));
  const database = generationDatabase(control.client, control.databaseName, number);
  return {
    number,
    hasDocuments: await hasDocuments(database),
    partitions: progress.length,
    completeTo: (await watermark(control, number)) ?? instants[0] ?? null,
    savedAt: saved[0] ?? null,
    releases: [...new Set(progress.flatMap(({ saved }) => saved?.release ?? []))],
  };
}

async function numbersOfDeadLetters(control: Db): Promise<number[]> {
  const spans = await ledgerOf(control)
    .find()
    .project<Pick<LedgerSpan, 'groups'>>({ 'groups.generations': 1 })
    .sort({ _id: 1 })
    .toArray();
  return spans.flatMap(({ groups }) => groups.flatMap(({ generations }) => generations));
}

/** The numbers in the names of consumer groups. Without Kafka's answer they are unknown. */
async function numbersOfGroups({ config, report, useKafka }: RestoreDeps): Promise<number[]> {
  const prefix = `${config.CONSUMER_GROUP}_g`;
  let numbers: number[] = [];
  try {
    await useKafka(async ({ admin }) => {
      const { groups } = await admin.listGroups();
      const suffixes = groups.flatMap(({ groupId }) =>
        groupId.startsWith(prefix) ? groupId.slice(prefix.length) : [],
      );
      numbers = suffixes.filter((suffix) => /^[1-9][0-9]{0,8}$/.test(suffix)).map(Number);
      // Kafka leaves out the groups that the user may not describe.
      if (numbers.length === 0)
        report(
          `Kafka lists no consumer group ${prefix}…: none exists, or this Kafka user lacks Describe on them`,
        );
    });
  } catch (error) {
    report(`Kafka does not tell the consumer groups, so their numbers are unknown: ${errorMessage(error)}`);
  }
  return numbers;
}
