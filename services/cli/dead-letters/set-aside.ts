import { recordId, type RecordPlace } from '../../../shared/control/set-aside.ts';
import { checkSetAside, setAside } from '../../operations/dead-letters/set-aside.ts';
import { confirmed } from '../context.ts';
import type { MongoVerb } from '../operate.ts';
import { type Json, lines, output } from '../output.ts';
import { requireKnownTopic } from './verbs.ts';

type Options = Json & { place: RecordPlace; why: string; yes?: true | undefined; dryRun?: true | undefined };

export const setAsideVerb: MongoVerb<Options> = async (deps, options, { terminal }) => {
  const { control, config, by, now, cli } = deps;
  const { place, why, yes, dryRun } = options;
  requireKnownTopic(place.topic, config);
  const record = recordId(place);
  const { generations, earlier } = await checkSetAside(control, place);
  const done = { record, generations, dryRun: dryRun ?? false };
  const told = (text: string, ...more: string[]) => lines([`${record} ${text}`, ...more]);
  const missing = generations.filter((one) => !earlier?.generations.includes(one));
  if (earlier && missing.length === 0)
    return output(
      options,
      done,
      told(`was set aside at ${earlier.at.toISOString()} by ${earlier.by} (${earlier.why})`),
    );
  const named = `generation ${missing.join(', ')}`;
  if (dryRun)
    return output(options, done, told(`would be set aside for ${named}. Dry run: nothing was changed`));
  const question = `Set ${record} aside for ${named}? Readers lack its effect until it is re-driven.`;
  if (!yes && !(await confirmed(terminal, 'set it aside', question)))
    return output(options, done, told('was not set aside'), 1);
  await setAside(control, place, missing, { by, why, at: await now() });
  const next = `see: ${cli} dead-letters list --reason set_aside`;
  return output(
    options,
    done,
    told(`is set aside for ${named}: a dead letter once its batch has failed again`, next),
  );
};
