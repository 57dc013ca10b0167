import { loadEnds } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import { withoutLog } from '../partitions.ts';
import { replacement } from './projectors.ts';
import type { RuleFinding } from './rule.ts';

/**
 * Partitions that no longer exist: their progress holds the watermark for good. A gap or a topic that was created again
 * explains them, and is reported instead.
 */
export function gonePartitions({ kafka: { log } }: Facts, { partitions, gaps, recreated }: GenerationFacts) {
  if (!log || gaps.length > 0 || recreated.length > 0) return null;
  const [first, ...others] = withoutLog(partitions, log);
  if (!first) return null;
  const more = others.length === 0 ? '' : ` (and ${counted(others.length, 'further partition')})`;
  const exist = log.partitions.filter((key) => parsePartitionKey(key).topic === first.topic).length;
  return (
    `${partitionKey(first)}${more} no longer exists, because the topic has ${counted(exist, 'partition')} now, so Data-As-Of ` +
    'stands still: the records of this partition that were not applied are lost; rebuild, or accept that (docs/gaps.md)'
  );
}

/** A load cannot end if an operator has created its topic again after its start, because the new log is shorter. */
export function unreachableLoadEnds(
  facts: Facts,
  generationFacts: GenerationFacts,
  commands: Commands,
): RuleFinding[] {
  const { log } = facts.kafka;
  if (!log) return [];
  const found: RuleFinding[] = [];
  for (const [key, loadEnd] of loadEnds(generationFacts.generation) ?? []) {
    const isGone = !log.partitions.includes(key);
    const end = isGone ? 0 : log.ends.get(key)?.end;
    // Without a leader the end of a log is unknown.
    if (end === undefined || end >= loadEnd) continue;
    const text =
      `the load of ${key} ends at offset ${loadEnd}, but its log ends at ${end}: if the topic was deleted and ` +
      'created again, the load cannot end';
    found.push({ text, fix: replacement(facts, generationFacts, commands) });
  }
  return found;
}
