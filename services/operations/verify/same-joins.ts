import { RebuildRefused } from '../../../shared/control/generations.ts';
import { otherJoiners } from '../../../shared/control/progress.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';

/**
 * Waits until every projector of a generation joins documents as this code does. Otherwise each would undo the work of
 * the other.
 */
export async function requireSameJoins(
  { control, now, report }: Pick<OperatorDeps, 'control' | 'now' | 'report'>,
  generation: number,
  timeoutSeconds: number,
): Promise<void> {
  const reportChange = reportChanges(report);
  const others = await pollUntil(
    async () => otherJoiners(control, generation, joinedBy, await now()),
    (found) => found.length === 0,
    {
      everyMs: 1_000,
      timeoutMs: timeoutSeconds * 1_000,
      onPending: (found) => reportChange(`waiting for the projectors of ${found.join(', ')} to end`),
    },
  );
  if (others.length > 0) throw stopped(others, generation);
}

/** Projectors of other code follow the generation. */
export const stopped = (others: string[], generation: number): RebuildRefused =>
  new RebuildRefused(
    `projectors of ${others.join(', ')} follow generation ${generation}, and this is ${joinedBy}: ` +
      'each would undo the joins of the other. Run it again once they have ended, or with their release. See whether they have',
    'status',
  );
