import { resources } from '../../../shared/documents/resources.ts';
import { servedIndexes } from '../../../shared/documents/served-indexes.ts';
import {
  declaredIndexes,
  describeIndexFault,
  type IndexFault,
  type IndexNames,
} from '../../../shared/store/structures.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import type { RuleFinding } from './rule.ts';

const served: IndexNames = servedIndexes;
const isServed = ({ kind, index }: IndexFault) => served[kind]?.includes(index) ?? false;

/**
 * The effect of missing or hidden indexes. The API answers 503 without an index that its reads name. The other indexes
 * serve projectors, which create the missing ones at their start.
 */
const effectOf = (faults: IndexFault[]) =>
  faults.some(isServed)
    ? { severity: 'bad' as const, effect: 'the API answers 503' }
    : { severity: 'attention' as const, effect: 'its projectors are slow, or fail' };

/** Reports which collections and indexes of a generation are missing or hidden, and how they come back. */
export function structureFindings(
  _: Facts,
  { generation, structures: { database, faults } }: GenerationFacts,
  { projector }: Commands,
): RuleFinding[] {
  const hidden = faults.filter(({ fault }) => fault === 'hidden');
  const missing = faults.filter(({ fault }) => fault === 'missing');
  const found: RuleFinding[] = [];
  if (missing.length > 0) {
    const { severity, effect } = effectOf(missing);
    found.push({
      severity,
      text:
        `its database ${database} lacks ${describeMissing(missing)}, so ${effect}: the start of a projector creates them; ` +
        'if a restore runs or was interrupted, finish it first (docs/recover.md)',
      fix: projector(generation.number),
    });
  }
  const [first] = hidden;
  if (first) {
    const { severity, effect } = effectOf(hidden);
    const command = `{ collMod: '${resources[first.kind].collection}', index: { name: '${first.index}', hidden: false } }`;
    found.push({
      severity,
      text: `indexes of its database ${database} are hidden, so ${effect}: ${hidden.map(describeIndexFault).join(', ')}`,
      fix: `db.getSiblingDB('${database}').runCommand(${command})`,
    });
  }
  return found;
}

/**
 * Names the missing indexes. A collection that lacks all of them is named as a whole: it is missing, or a restore is
 * filling it.
 */
function describeMissing(missing: IndexFault[]): string {
  const names: string[] = [];
  for (const [kind, faults] of Map.groupBy(missing, (fault) => fault.kind)) {
    const lacksAll = faults.length === declaredIndexes[kind]?.length;
    if (lacksAll) names.push(`all indexes of ${resources[kind].collection}`);
    else names.push(...faults.map(describeIndexFault));
  }
  return names.join(', ');
}
