import { readRegistry } from '../../../shared/control/generations.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { configs } from '../config.ts';
import { type Context, type Output, withMongo } from '../context.ts';
import { type Json, lines, output } from '../output.ts';

const fixes = [
  'give it an entry with replicas in `generations`, or set upgradeCheck.enabled=false if it is to pause',
  // After a rollback that a hook has stopped, Helm refuses every upgrade.
  'after `helm rollback`: roll back to the revision that `helm history` shows as deployed, before the next upgrade',
];

/**
 * Reports whether a deployment keeps the projectors of the active generation, and fails only if it does not. While
 * MongoDB is away or has no address, the answer is unknown and the verb succeeds, because the same deployment may start
 * MongoDB.
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
