import { RebuildRefused } from '../../../shared/control/generations.ts';
import { isLive, projectorsOf, readProjectors } from '../../../shared/control/processes.ts';
import { isSilent, readProgress } from '../../../shared/control/progress.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';

type JoinDeps = Pick<OperatorDeps, 'control' | 'now'>;

/**
 * The builds of the projectors that follow a generation but join documents otherwise than this code, each build once. A
 * process that saves progress without an announcement may join in any way: it counts as an unknown build.
 */
async function otherJoiners({ control, now }: JoinDeps, generation: number): Promise<string[]> {
  // The progress is read before the register, so the register already has each process that has saved progress.
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
 * Waits until every projector of a generation joins documents as this code does. Otherwise a repair and a projector
 * would undo each other's joins. Throws `RebuildRefused` when the time is up.
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
      'each would undo the joins of the other. Run it again once they have ended, or with their release. To see whether they ' +
      'have ended',
    'status',
  );
}
