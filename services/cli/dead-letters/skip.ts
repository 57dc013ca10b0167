import { placeText, type RecordPlace } from '../../../shared/control/ledger.ts';
import { storeSkip } from '../../../shared/control/ledger-store.ts';
import { checkSkip } from '../../operations/dead-letters/skip.ts';
import { confirmOrThrow, type Context, type Output } from '../context.ts';
import { withReadModel } from '../operate.ts';
import { type Flag, type Json, lines, output } from '../output.ts';
import { requireKnownTopic } from './verbs.ts';

type Options = Json & { place: RecordPlace; why: string; yes?: Flag; dryRun?: Flag };

export function skip(context: Context, options: Options): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { control, config, by, now, cli } = deps;
    const { place, why, yes, dryRun } = options;
    requireKnownTopic(place.topic, config);
    const record = placeText(place);
    const { generations, earlier } = await checkSkip(control, place);
    const result = { record, generations, dryRun: dryRun ?? false };
    const answer = (texts: string[], exitCode: 0 | 1 = 0) => output(options, result, lines(texts), exitCode);
    const missing = generations.filter((generation) => !earlier?.generations.includes(generation));
    if (earlier && missing.length === 0) {
      const { at, by: operator, why: reason } = earlier;
      return answer([`${record} was skipped at ${at.toISOString()} by ${operator} (${reason})`]);
    }
    const named = `generation ${missing.join(', ')}`;
    if (dryRun) return answer([`${record} would be skipped for ${named}. Dry run: nothing was changed`]);
    const question = `Skip ${record} for ${named}? Readers lack its effect until it is redriven.`;
    if (!yes && !(await confirmOrThrow(context.terminal, 'skip it', question)))
      return answer([`${record} was not skipped`], 1);
    await storeSkip(control, place, { generations: missing, by, why, at: await now() });
    const next = `see: ${cli} dead-letters list --reason skipped`;
    return answer([
      `${record} is skipped for ${named}: it becomes a dead letter once its batch has failed again`,
      next,
    ]);
  });
}
