import { RebuildRefused } from '../../../shared/control/generations.ts';
import { isLive, projectorsOf, readProjectors } from '../../../shared/control/processes.ts';
import { isSilent, readProgress } from '../../../shared/control/progress.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';

type JoinDeps = Pick<OperatorDeps, 'control' | 'now'>;

/**
 * The code of the projectors that follow the served generation and join documents otherwise than this code does, each
 * once. A process whose progress moves, and that does not announce itself, is of a build that is not known.
 */
async function otherJoiners({ control, now }: JoinDeps, generation: number): Promise<string[]> {
  // Read before the register: the process that has saved it is announced there.
  const progress = await readProgress(control, generation);
  const projectors = projectorsOf(await readProjectors(control), generation, generation);
  const at = await now();
  const announced = new Set(projectors.map(({ _id }) => _id));
  const isAnnounced = (id: string | undefined) => id !== undefined && announced.has(id);
  const moving = progress.filter(({ saved, updatedAt }) => saved && !isSilent(updatedAt, at));
  const savers = new Set(moving.map(({ saved }) => saved?.processId));
  const others = new Set<string>();
  if ([...savers].some((id) => !isAnnounced(id))) others.add('a build that is not known');
  for (const one of projectors) {
    const mayWrite = isLive(one, at) || savers.has(one._id);
    if (one.joinedBy !== joinedBy && mayWrite) others.add(one.joinedBy);
  }
  return [...others].toSorted();
}

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
    () => otherJoiners({ control, now }, generation),
    (found) => found.length === 0,
    {
      everyMs: 1_000,
      timeoutMs: timeoutSeconds * 1_000,
      onPending: (found) => reportChange(`waiting for the projectors of ${found.join(', ')} to end`),
    },
  );
  if (others.length === 0) return;
  throw new RebuildRefused(
    `projectors of ${others.join(', ')} follow generation ${generation}, and this is ${joinedBy}: ` +
      'each would undo the joins of the other. Run it again once they have ended, or with their release. See whether they have',
    'status',
  );
}
