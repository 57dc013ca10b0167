import { loadEnds } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { andFurther, counted } from '../../../shared/runtime/counted.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import { partitionsWithoutLog } from '../partitions.ts';
import { replacement } from './projectors.ts';
import type { RuleFinding } from './rule.ts';

/**
 * Reports partitions that no longer exist, because the watermark waits for their progress forever. If a gap or a topic
 * that was created again explains them, another rule reports that instead.
 */
export function missingPartitions(
  { kafka: { log } }: Facts,
  { partitions, gaps, recreated }: GenerationFacts,
) {
  if (!log || gaps.length > 0 || recreated.length > 0) return null;
  const [first, ...others] = partitionsWithoutLog(partitions, log);
  if (!first) return null;
  const more = andFurther(others.length, 'partition');
  const existing = log.partitions.filter((key) => parsePartitionKey(key).topic === first.topic).length;
  return (
    `${partitionKey(first)}${more} no longer exists, because the topic has ${counted(existing, 'partition')} now, so Data-As-Of ` +
    'stands still: the records of this partition that were not applied are lost; rebuild, or accept that (docs/gaps.md)'
  );
}

/**
 * Reports loads that cannot end: if an operator deletes a topic and creates it again, the new log may end before the
 * end of the load.
 */
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
