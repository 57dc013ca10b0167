import {
  generationOf,
  generationsOf,
  RebuildRefused,
  requireVersion,
} from '../../../shared/control/generations.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import type { OperatorDeps } from '../deps.ts';
import { type Repair, repair } from '../refresh/repair.ts';
import { requireSameJoins } from '../refresh/same-joins.ts';
import { expectationText } from '../rules/comparison.ts';
import { requireStructures } from '../structures.ts';
import { compareDocuments, type ComparisonResult, findDifferences, resultText } from './compare.ts';
import type { Expectation } from './differences.ts';
import { betweenGenerations, type Side, withFreshJoins } from './pair-sources.ts';
import { storeReport } from './transitions.ts';

const toSide = ({ mongo, config }: OperatorDeps, number: number): Side => ({
  number,
  database: generationDatabase(mongo, config.DATABASE_NAME, number),
});

/** Compares a build with the active generation, and stores the result, which a promotion requires. */
export async function compareWithActive(deps: OperatorDeps, number: number, expectations: Expectation[]) {
  const { control, now, by } = deps;
  const registry = await requireRegistry(control);
  const target = generationOf(registry, number);
  const active = generationOf(registry, registry.generation);
  if (target.state === 'building')
    throw new RebuildRefused(`generation ${number} is still loading`, `rebuild await ${number}`);
  if (number === active.number)
    throw new RebuildRefused(
      `generation ${number} is the active one, which is compared with its own entities`,
      'verify',
    );
  // A comparison takes long: a user who may not store its result is refused before it.
  await requireWritable(generationsOf(control));
  const source = betweenGenerations(deps, toSide(deps, active.number), toSide(deps, number));
  const result = await compareDocuments(source, { ...deps, expectations });
  const { compared, differing, differences, expected } = result;
  const report = {
    at: await now(),
    by,
    against: active.number,
    versions: { generation: target.projectionVersion, against: active.projectionVersion },
    lows: [...(await deps.log.read(deps.topics)).ends].map(([partition, { low }]) => ({ partition, low })),
    compared,
    differing,
    differences,
    expected,
    expectations,
  };
  const text = `compared with generation ${active.number}: ${resultText(result)}`;
  const why = [text, ...expectations.map(expectationText)].join(' ');
  await changeRegistry(control, storeReport(number, report, { by, at: report.at, why }));
  return result;
}

/** The result of a comparison with fresh joins, and of the repair that followed it, if the operator wanted one. */
export type Verification = { number: number; result: ComparisonResult; repair?: Repair };

/**
 * Compares a generation, by default the active one, with a fresh join of its own entities, and repairs the documents
 * that differ if `isRepair` says so. Refuses a generation of another release, and one that lacks a collection: the
 * absent collection would count as equal.
 */
export async function verifyGeneration(
  deps: OperatorDeps,
  number?: number,
  isRepair = false,
): Promise<Verification> {
  const registry = await requireRegistry(deps.control);
  const target = generationOf(registry, number ?? registry.generation);
  requireVersion(target);
  await requireStructures(deps.control, target);
  const side = toSide(deps, target.number);
  if (isRepair) {
    // A comparison takes long: a repair that cannot be made or stored is refused before it.
    await requireSameJoins(deps, side.number, 0);
    await requireWritable(generationsOf(deps.control));
  }
  const source = withFreshJoins(deps, side);
  const options = { ...deps, expectations: [] };
  const { result, unexpected } = await findDifferences(source, options);
  if (!isRepair) return { number: side.number, result };
  const { database, number: generation } = side;
  const repaired = await repair({ ...deps, generation, database, source, options }, unexpected);
  return { number: side.number, result, repair: repaired };
}
