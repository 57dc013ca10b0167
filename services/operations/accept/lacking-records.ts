import { generationOf } from '../../../shared/control/generations.ts';
import { describeGaps, readLogGaps } from '../../../shared/control/log-gaps.ts';
import { progressOf } from '../../../shared/control/progress.ts';
import { logsWithoutBeginning, requireRegistry } from '../../../shared/control/registry.ts';
import { parsePartitionKey, partitionKey } from '../../../shared/control/topic-partition.ts';
import { isRetentionRisk, readTopicSettings, topicWarnings } from '../../../shared/kafka/topic-settings.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Acceptable } from './acceptable.ts';

type LackingDeps = Pick<OperatorDeps, 'control' | 'admin' | 'log' | 'topics'>;

/** The records of a generation that a build would lack, and that no operator has accepted. */
export async function lackingRecords(deps: LackingDeps, number: number): Promise<Acceptable> {
  const { control, admin, log, topics } = deps;
  const generation = generationOf(await requireRegistry(control), number);
  const { ends } = await log.read(topics);
  const beginnings = logsWithoutBeginning(generation, ends);
  const settings = topicWarnings(await readTopicSettings(admin, topics));
  const accepted = new Set((generation.accepted ?? []).flatMap(({ seen }) => seen));
  const texts = [
    ...beginnings.map(
      ({ key, low, beginning }) =>
        `the log of ${key} begins at offset ${low}, not ${beginning}: the build will lack the records before it`,
    ),
    ...(await lostRecords(control, number, ends)),
    ...settings.filter(({ risk }) => isRetentionRisk(risk)).map(({ text }) => text),
  ];
  return {
    seen: texts.filter((text) => !accepted.has(text)),
    beginnings: beginnings.map(({ key, low }) => ({ ...parsePartitionKey(key), low })),
  };
}

/** Records that a generation has applied and that its log has lost: a build cannot read them again. */
async function lostRecords(
  control: OperatorDeps['control'],
  number: number,
  ends: ReadonlyMap<string, { end: number }>,
): Promise<string[]> {
  const lack = 'the build will lack records that the read model still has';
  const gaps = (await readLogGaps(control, number)).filter(({ kind }) => kind !== 'deleted');
  const withGap = new Set(gaps.map(partitionKey));
  const applied = await progressOf(control).find({ generation: number }).toArray();
  const shortened = applied.filter(
    (one) =>
      !withGap.has(partitionKey(one)) &&
      one.applied.position > (ends.get(partitionKey(one))?.end ?? Infinity),
  );
  return [
    ...gaps.map((gap) => `${describeGaps([gap])}: ${lack}`),
    ...shortened.map(
      (one) =>
        `the log of ${partitionKey(one)} ends before offset ${one.applied.position - 1}, which generation ${number} has applied: ${lack}`,
    ),
  ];
}
