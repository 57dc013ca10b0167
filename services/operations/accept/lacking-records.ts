import { generationOf } from '../../../shared/control/generations.ts';
import { describeGaps, readLogGaps } from '../../../shared/control/log-gaps.ts';
import { type Progress, readProgress } from '../../../shared/control/progress.ts';
import { logsWithoutBeginning, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { isRetentionRisk, readTopicSettings, topicWarnings } from '../../../shared/kafka/topic-settings.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Acceptable } from './acceptable.ts';

type LackingDeps = Pick<OperatorDeps, 'control' | 'admin' | 'log' | 'topics'>;

/**
 * Reads which records of a generation a new build would lack, unless an operator has accepted that. A log may have lost
 * its beginning or other records that the generation has applied, or the settings of its topic may delete records soon.
 */
export async function readAcceptableLackingRecords(deps: LackingDeps, number: number): Promise<Acceptable> {
  const { control, admin, log, topics } = deps;
  const generation = generationOf(await requireRegistry(control), number);
  // The progress is read before the log. Otherwise records that a projector applies in between would seem lost.
  const progress = await readProgress(control, number);
  const { ends } = await log.read(topics);
  const beginnings = logsWithoutBeginning(generation, ends);
  const lostBeginnings = beginnings.map(
    ({ key, low, beginning }) =>
      `the log of ${key} begins at offset ${low}, not ${beginning}: the build will lack the records before it`,
  );
  const warnings = topicWarnings(await readTopicSettings(admin, topics));
  const retentionRisks = warnings.filter(({ risk }) => isRetentionRisk(risk)).map(({ text }) => text);
  const lostRecords = await readLostRecords(control, number, { progress, ends });
  const texts = [...lostBeginnings, ...lostRecords, ...retentionRisks];
  const accepted = generation.accepted ?? [];
  const alreadyAccepted = new Set(accepted.flatMap(({ seen }) => seen));
  return {
    seen: texts.filter((text) => !alreadyAccepted.has(text)),
    beginnings: beginnings.map(({ key, low }) => ({ ...parsePartitionKey(key), low })),
  };
}

/** Describes the records that a generation has applied but its log has lost, so a build cannot read them. */
async function readLostRecords(
  control: OperatorDeps['control'],
  number: number,
  { progress, ends }: { progress: Progress[]; ends: ReadonlyMap<string, { end: number }> },
): Promise<string[]> {
  const lack = 'the build will lack records that the read model still has';
  const gaps = (await readLogGaps(control, number)).filter(({ kind }) => kind !== 'deleted');
  const withGap = new Set(gaps.map(partitionKey));
  const texts = gaps.map((gap) => `${describeGaps([gap])}: ${lack}`);
  for (const { topic, partition, applied } of progress) {
    const key = partitionKey({ topic, partition });
    const end = ends.get(key)?.end;
    if (withGap.has(key) || end === undefined) continue;
    const lastApplied = applied.position - 1;
    if (lastApplied < end) continue;
    texts.push(
      `the log of ${key} ends before offset ${lastApplied}, which generation ${number} has applied: ${lack}`,
    );
  }
  return texts;
}
