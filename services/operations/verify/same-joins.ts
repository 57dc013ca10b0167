import { RebuildRefused } from '../../../shared/control/generations.ts';
import { isLive, projectorsOf, readProjectors } from '../../../shared/control/processes.ts';
import { isSilent, readProgress } from '../../../shared/control/progress.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import type { OperatorDeps } from '../deps.ts';
import { pollUntil, reportChanges } from '../poll-until.ts';

type JoinDeps = Pick<OperatorDeps, 'control' | 'now'>;

/**
 * Finds the builds of projectors that follow a generation but join documents in another way than this code. A process
 * that saves progress without an announcement may join in any way, so it counts as an unknown build.
 */
async function findOtherBuilds({ control, now }: JoinDeps, generation: number): Promise<string[]> {
  // The progress is read before the register, so the register already has each process that has saved progress.
  const progress = await readProgress(control, generation);
  const projectors = projectorsOf(await readProjectors(control), generation, generation);
  const at = await now();
  const announced = new Set(projectors.map(({ _id }) => _id));
  const recent = progress.filter(({ updatedAt }) => !isSilent(updatedAt, at));
  const savers = new Set(recent.flatMap(({ saved }) => saved?.processId ?? []));
  const otherBuilds = new Set<string>();
  if ([...savers].some((id) => !announced.has(id))) otherBuilds.add('a build that is not known');
  for (const projector of projectors) {
    const mayWrite = isLive(projector, at) || savers.has(projector._id);
    if (projector.joinedBy !== joinedBy && mayWrite) otherBuilds.add(projector.joinedBy);
  }
  return [...otherBuilds].toSorted();
}

/**
 * Waits up to `timeoutSeconds` until every projector of a generation joins documents as this code does. Otherwise a
 * repair and a projector would undo each other's joins. Throws `RebuildRefused` if the time is up.
 */
export async function requireSameJoins(
  { control, now, report }: Pick<OperatorDeps, 'control' | 'now' | 'report'>,
  generation: number,
  timeoutSeconds: number,
): Promise<void> {
  const reportChange = reportChanges(report);
  const otherBuilds = await pollUntil(
    () => findOtherBuilds({ control, now }, generation),
    (builds) => builds.length === 0,
    {
      everyMs: 1_000,
      timeoutMs: timeoutSeconds * 1_000,
      onPending: (builds) => reportChange(`waiting for the projectors of ${builds.join(', ')} to end`),
    },
  );
  if (otherBuilds.length === 0) return;
  throw new RebuildRefused(
    `projectors of ${otherBuilds.join(', ')} follow generation ${generation}, and this is ${joinedBy}: ` +
      'each would undo the joins of the other. Run it again once they have ended, or with their release. To see whether they ' +
      'have ended',
    'status',
  );
}
