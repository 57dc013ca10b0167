import {
  type AcceptableFinding,
  type Acceptance,
  generationOf,
  RebuildRefused,
} from '../../../shared/control/generations.ts';
import { processText, readLiveReplicas } from '../../../shared/control/processes.ts';
import { addAcceptance, changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import type { OperatorDeps } from '../deps.ts';
import { readFacts } from '../facts.ts';
import { evaluateRules } from '../findings.ts';
import { readAcceptableGaps } from './accept-gap.ts';
import type { Acceptable } from './acceptable.ts';
import { readAcceptableLackingRecords } from './lacking-records.ts';
import { readAcceptableLosses } from './lost-collections.ts';

/** The findings about logs, which can be accepted only while Kafka answers. */
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
  /** The active generation by default. */
  generation?: number | undefined;
  why: string;
  dryRun?: boolean | undefined;
};

/** The acceptance, or in a dry run the acceptance that would be stored. */
export type AcceptResult = {
  finding: AcceptableFinding;
  generation: number;
  dryRun: boolean;
  seen: string[];
};

/**
 * Accepts a finding about a generation as it is now. Stores who accepted what, when and why. Throws `RebuildRefused` if
 * there is nothing to accept.
 */
export async function acceptFinding(
  deps: AcceptDeps,
  { finding, generation, why, dryRun = false }: AcceptOptions,
): Promise<AcceptResult> {
  const registry = await requireRegistry(deps.control);
  const number = generation ?? registry.generation;
  // Throws if there is no generation of this number.
  generationOf(registry, number);
  const { seen, beginnings, apply } = await readAcceptable(deps, finding, number);
  if (seen.length === 0)
    throw new RebuildRefused(`generation ${number} has nothing to accept as "${finding}"; see`, 'status');
  const accepted = { finding, generation: number, dryRun, seen };
  if (dryRun) return accepted;
  const acceptance: Acceptance = { finding, at: await deps.now(), by: deps.by, why, seen };
  if (beginnings) acceptance.beginnings = beginnings;
  await changeRegistry(deps.control, addAcceptance(number, acceptance));
  await apply?.();
  return accepted;
}

function readAcceptable(deps: AcceptDeps, finding: AcceptableFinding, number: number): Promise<Acceptable> {
  switch (finding) {
    case 'gap':
      return readAcceptableGaps({ ...deps, ...requireKafka(deps) }, number);
    case 'truncated':
      return readAcceptableLackingRecords({ ...deps, ...requireKafka(deps) }, number);
    case 'older':
      return readAcceptableOlderData(deps, number);
    case 'lost':
      return readAcceptableLosses(deps, number);
  }
}

function requireKafka({ kafka }: AcceptDeps): Pick<OperatorDeps, 'admin' | 'log'> {
  if (!kafka) throw new Error('this finding cannot be accepted without Kafka');
  return kafka;
}

/**
 * Reads the faults that `older` covers. Until the API serves the generation, they are the findings about its older
 * data. Afterwards they are the API replicas that wait until the generation has the data that they have served.
 */
async function readAcceptableOlderData(deps: AcceptDeps, number: number): Promise<Acceptable> {
  const withoutKafka = () => Promise.reject(new Error('not asked'));
  // The second reading compares the positions with those of the active generation in the first one.
  const previous = await readFacts(deps, withoutKafka, null);
  const facts = await readFacts(deps, withoutKafka, previous);
  if (facts.registry?.generation !== number) {
    const older = evaluateRules(facts).filter(
      ({ acceptAs, generation }) => acceptAs === 'older' && generation === number,
    );
    return { seen: older.map(({ text }) => text) };
  }
  const replicas = await readLiveReplicas(deps.control, facts.now);
  const waiting = replicas.filter(({ generation }) => generation !== number);
  return {
    seen: waiting.map(
      (replica) => `the API replica (${processText(replica)}) may show older data than before`,
    ),
  };
}
