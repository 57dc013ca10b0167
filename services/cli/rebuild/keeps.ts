import { readRegistry } from '../../../shared/control/generations.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { configs } from '../config.ts';
import { type Context, type Output, withMongo } from '../context.ts';
import { type Json, lines, output } from '../output.ts';

const fixes = [
  'give it an entry with replicas in `generations`, or set upgradeCheck.enabled=false if it is to pause',
  // Helm refuses every upgrade after a rollback that a hook has ended.
  'after `helm rollback`: roll back to the revision that `helm history` shows as deployed, before the next upgrade',
];

/**
 * Reports whether the active generation is one whose projectors stay. Fails only if the answer is no. While MongoDB is
 * away or its address is missing, the answer is unknown, and the change of the deployment may bring MongoDB.
 */
export async function keeps(context: Context, options: Json & { kept: number[] }): Promise<Output> {
  const unknownBecause = (reason: string) =>
    output(options, { unknown: reason }, lines([`the active generation is unknown: ${reason}`]));
  if (!context.environment.MONGODB_URL?.trim()) return unknownBecause('MONGODB_URL is not set');
  const config = configs.mongo(context.environment);
  let active: number | undefined;
  try {
    active = await withMongo(
      context,
      config,
      async ({ control }) => (await readRegistry(control))?.generation,
    );
  } catch (error) {
    return unknownBecause(errorMessage(error));
  }
  if (active === undefined)
    return output(
      options,
      { active: null },
      lines([`no generation of ${config.DATABASE_NAME} is active yet`]),
    );
  if (options.kept.includes(active))
    return output(options, { active }, lines([`generation ${active} is active, and keeps its projectors`]));
  const why = `generation ${active} is active, and would have no projectors: Data-As-Of would stand still`;
  return output(options, { active, refused: why, fixes }, lines([why, ...fixes]), 1);
}
