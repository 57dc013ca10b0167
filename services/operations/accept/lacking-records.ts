import { generationOf } from '../../../shared/control/generations.ts';
import { describeGaps, readLogGaps } from '../../../shared/control/log-gaps.ts';
import { type Progress, readProgress } from '../../../shared/control/progress.ts';
import { logsWithoutBeginning, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { isRetentionRisk, readTopicSettings, topicWarnings } from '../../../shared/kafka/topic-settings.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Acceptable } from './acceptable.ts';

type LackingDeps = Pick<OperatorDeps, 'control' | 'admin' | 'log' | 'topics'>;

/** Reads which records of a generation a new build would lack, unless an operator has accepted that. */
export async function acceptableLackingRecords(deps: LackingDeps, number: number): Promise<Acceptable> {
  const { control, admin, log, topics } = deps;
  const generation = generationOf(await requireRegistry(control), number);
  // The progress is read before the log. Otherwise records that a projector applies in between would seem lost.
  const progress = await readProgress(control, number);
  const { ends } = await log.read(topics);
  const beginnings = logsWithoutBeginning(generation, ends);
  const warnings = topicWarnings(await readTopicSettings(admin, topics));
  const alreadyAccepted = new Set((generation.accepted ?? []).flatMap(({ seen }) => seen));
  const texts = [
    ...beginnings.map(
      ({ key, low, beginning }) =>
        `the log of ${key} begins at offset ${low}, not ${beginning}: the build will lack the records before it`,
    ),
    ...(await lostRecordTexts(control, number, { progress, ends })),
    ...warnings.filter(({ risk }) => isRetentionRisk(risk)).map(({ text }) => text),
  ];
  return {
    seen: texts.filter((text) => !alreadyAccepted.has(text)),
    beginnings: beginnings.map(({ key, low }) => ({ ...parsePartitionKey(key), low })),
  };
}

/** Describes the records that a generation has applied but its log has lost, so a build cannot read them. */
async function lostRecordTexts(
  control: OperatorDeps['control'],
  number: number,
  { progress, ends }: { progress: Progress[]; ends: ReadonlyMap<string, { end: number }> },
): Promise<string[]> {
  const lack = 'the build will lack records that the read model still has';
  const gaps = (await readLogGaps(control, number)).filter(({ kind }) => kind !== 'deleted');
  const withGap = new Set(gaps.map(partitionKey));
  const shortened = progress.filter((saved) => {
    const key = partitionKey(saved);
    const end = ends.get(key)?.end ?? Infinity;
    return !withGap.has(key) && saved.applied.position > end;
  });
  return [
    ...gaps.map((gap) => `${describeGaps([gap])}: ${lack}`),
    ...shortened.map(
      (saved) =>
        `the log of ${partitionKey(saved)} ends before offset ${saved.applied.position - 1}, which generation ${number} has applied: ${lack}`,
    ),
  ];
}
