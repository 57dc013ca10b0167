import { type AcceptableFinding, generationOf, RebuildRefused } from '../../../shared/control/generations.ts';
import { liveReplicas } from '../../../shared/control/processes.ts';
import { accept, changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import type { OperatorDeps } from '../deps.ts';
import { readFacts } from '../facts.ts';
import { findings } from '../findings.ts';
import { acceptableGaps } from './accept-gap.ts';
import type { Acceptable } from './acceptable.ts';
import { lackingRecords } from './lacking-records.ts';
import { lostCollections } from './lost-collections.ts';

/** The findings that can be accepted only with Kafka's answer, because they are about its logs. */
export const needsKafka: readonly AcceptableFinding[] = ['gap', 'truncated'];

export type AcceptDeps = Pick<
  OperatorDeps,
  'control' | 'mongo' | 'config' | 'topics' | 'now' | 'by' | 'report'
> & {
  /** Null for a finding that does not need Kafka. */
  kafka: Pick<OperatorDeps, 'admin' | 'log'> | null;
};

export type AcceptOptions = {
  finding: AcceptableFinding;
  /** The active one by default. */
  generation?: number | undefined;
  why: string;
  dryRun?: boolean | undefined;
};

/** The acceptance, or in a dry run the acceptance that would be stored. */
export type Accepted = { finding: AcceptableFinding; generation: number; dryRun: boolean; seen: string[] };

/**
 * Accepts a finding about a generation, the active one unless another is given, as it is now. Stores who accepted what,
 * when and why. Throws `RebuildRefused` if there is nothing to accept.
 */
export async function acceptFinding(
  deps: AcceptDeps,
  { finding, generation, why, dryRun = false }: AcceptOptions,
): Promise<Accepted> {
  const registry = await requireRegistry(deps.control);
  const number = generation ?? registry.generation;
  generationOf(registry, number);
  const { seen, beginnings, apply } = await acceptable(deps, finding, number);
  if (seen.length === 0)
    throw new RebuildRefused(`generation ${number} has nothing to accept as "${finding}"; see`, 'status');
  const accepted = { finding, generation: number, dryRun, seen };
  if (dryRun) return accepted;
  const found = { finding, at: await deps.now(), by: deps.by, why, seen };
  await changeRegistry(deps.control, accept(number, beginnings ? { ...found, beginnings } : found));
  await apply?.();
  return accepted;
}

function acceptable(deps: AcceptDeps, finding: AcceptableFinding, number: number): Promise<Acceptable> {
  switch (finding) {
    case 'gap':
      return acceptableGaps({ ...deps, ...requireKafka(deps) }, number);
    case 'truncated':
      return lackingRecords({ ...deps, ...requireKafka(deps) }, number);
    case 'older':
      return olderData(deps, number);
    case 'lost':
      return lostCollections(deps, number);
  }
}

function requireKafka({ kafka }: AcceptDeps): Pick<OperatorDeps, 'admin' | 'log'> {
  if (!kafka) throw new Error('this finding cannot be accepted without Kafka');
  return kafka;
}

/**
 * Before a switch: the older data of the generation. After it: the API replicas that still wait until the generation
 * has caught up with the data that they have served.
 */
async function olderData(deps: AcceptDeps, number: number): Promise<Acceptable> {
  const withoutKafka = () => Promise.reject(new Error('not asked'));
  const before = await readFacts(deps, withoutKafka, null);
  const facts = await readFacts(deps, withoutKafka, before);
  const found = findings(facts).filter((one) => one.acceptAs === 'older' && one.generation === number);
  if (facts.registry?.generation !== number) return { seen: found.map(({ text }) => text) };
  const waiting = (await liveReplicas(deps.control, facts.now)).filter((one) => one.generation !== number);
  return {
    seen: waiting.map(
      ({ host, pid }) => `the API replica on ${host}, process ${pid}, may show older data than before`,
    ),
  };
}
