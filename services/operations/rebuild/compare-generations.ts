import { generationOf, generationsOf, RebuildRefused } from '../../../shared/control/generations.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import type { OperatorDeps } from '../deps.ts';
import { expectationText } from '../rules/comparison.ts';
import { compareDocuments, resultText } from './compare.ts';
import type { Expectation } from './differences.ts';
import { createPairSource, type GenerationSide } from './pair-sources.ts';
import { storeReport } from './transitions.ts';

const toSide = ({ mongo, config }: OperatorDeps, number: number): GenerationSide => ({
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
  // A comparison takes long, so a user who may not store its result is refused before it starts.
  await requireWritable(generationsOf(control));
  const source = createPairSource(deps, toSide(deps, active.number), toSide(deps, number));
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
