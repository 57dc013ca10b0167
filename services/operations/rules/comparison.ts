import type { ComparisonReport, GenerationState } from '../../../shared/control/generations.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import { counted } from '../../../shared/runtime/counted.ts';
import type { Commands } from '../deployment.ts';
import type { Facts } from '../facts.ts';
import type { GenerationFacts } from '../generation-facts.ts';
import { activeOf, type RuleFinding } from './rule.ts';

/** A comparison expires after this time: both generations change, and so may the release of the CLI. */
const reportValidMs = dayMs;

export const isPromotable = (state: GenerationState) => state === 'ready' || state === 'standby';

export const expectationText = ({ kind, field }: { kind: string; field: string }): string =>
  `--expect ${kind}:${field}`;

/** Reports that a promotion lacks a comparison that is still valid and has found no unintended difference. */
export function comparison(
  facts: Facts,
  { generation }: GenerationFacts,
  { cli }: Commands,
): RuleFinding | null {
  const { number, report, state } = generation;
  if (!isPromotable(state)) return null;
  const fix = `${cli} rebuild compare ${number}`;
  if (!report) return { text: `generation ${number} was not compared with the active one`, fix };
  const reason = expiryReason(facts, generation.projectionVersion, report);
  if (reason) return { text: `the comparison is no longer valid, because ${reason}`, fix };
  if (report.differences > 0) return { text: differencesText(report), fix };
  if (report.expected === 0) return null;
  const text = `${report.compared} compared: 0 unintended differences${intendedText(report)}`;
  return { text, isAccepted: true };
}

function differencesText(report: ComparisonReport): string {
  const compared = counted(report.compared, 'document');
  const fix = 'fix the projection, or name the intended differences with --expect';
  return `differences in ${report.differing} of ${compared}${intendedText(report)}: ${fix}`;
}

/** The end of a text that names the intended differences; empty if there are none. */
function intendedText({ expected, by, expectations }: ComparisonReport): string {
  if (expected === 0) return '';
  const accepted = expectations.map(expectationText).join(', ');
  return `, ${counted(expected, 'intended difference')} accepted by ${by} (${accepted})`;
}

/** Why a comparison of documents of this projection version is no longer valid; null if it is valid. */
function expiryReason(
  facts: Facts,
  version: number,
  { against, versions, lows, at }: ComparisonReport,
): string | null {
  const { log } = facts.kafka;
  const active = activeOf(facts)?.generation;
  if (against !== active?.number)
    return `it was made with generation ${against}, and ${active?.number} is active now`;
  if (versions.generation !== version || versions.against !== active.projectionVersion)
    return 'a projection version has changed since';
  const moved = lows.find(({ partition, low }) => {
    const lowNow = log?.ends.get(partition)?.low;
    return lowNow !== undefined && lowNow !== low;
  });
  if (moved) return `the log of ${moved.partition} now begins at another offset`;
  return facts.now.getTime() - at.getTime() > reportValidMs ? 'it is older than a day' : null;
}
