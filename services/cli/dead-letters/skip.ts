import { placeText, type RecordPlace } from '../../../shared/control/ledger.ts';
import { storeSkip } from '../../../shared/control/ledger-store.ts';
import { checkSkip } from '../../operations/dead-letters/skip.ts';
import { confirmOrThrow } from '../context.ts';
import type { ReadModelVerb } from '../operate.ts';
import { type Json, lines, output } from '../output.ts';
import { requireKnownTopic } from './verbs.ts';

type Options = Json & { place: RecordPlace; why: string; yes?: true | undefined; dryRun?: true | undefined };

export const skip: ReadModelVerb<Options> = async (deps, options, { terminal }) => {
  const { control, config, by, now, cli } = deps;
  const { place, why, yes, dryRun } = options;
  requireKnownTopic(place.topic, config);
  const record = placeText(place);
  const { generations, earlier } = await checkSkip(control, place);
  const result = { record, generations, dryRun: dryRun ?? false };
  const describe = (text: string, ...more: string[]) => lines([`${record} ${text}`, ...more]);
  const missing = generations.filter((generation) => !earlier?.generations.includes(generation));
  if (earlier && missing.length === 0)
    return output(
      options,
      result,
      describe(`was skipped at ${earlier.at.toISOString()} by ${earlier.by} (${earlier.why})`),
    );
  const named = `generation ${missing.join(', ')}`;
  if (dryRun)
    return output(options, result, describe(`would be skipped for ${named}. Dry run: nothing was changed`));
  const question = `Skip ${record} for ${named}? Readers lack its effect until it is re-driven.`;
  if (!yes && !(await confirmOrThrow(terminal, 'skip it', question)))
    return output(options, result, describe('was not skipped'), 1);
  await storeSkip(control, place, { generations: missing, by, why, at: await now() });
  const next = `see: ${cli} dead-letters list --reason skipped`;
  return output(
    options,
    result,
    describe(`is skipped for ${named}: it becomes a dead letter once its batch has failed again`, next),
  );
};
