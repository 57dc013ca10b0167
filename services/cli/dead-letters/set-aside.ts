import { recordId, type RecordPlace } from '../../../shared/control/set-aside.ts';
import { checkSetAside, setAside } from '../../operations/dead-letters/set-aside.ts';
import { confirmed, type Output } from '../context.ts';
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
  const ended = (text: string, exitCode: Output['exitCode'] = 0, ...more: string[]) =>
    output(
      options,
      { record, generations, dryRun: dryRun ?? false },
      lines([`${record} ${text}`, ...more]),
      exitCode,
    );
  const missing = generations.filter((one) => !earlier?.generations.includes(one));
  if (earlier && missing.length === 0)
    return ended(`was set aside at ${earlier.at.toISOString()} by ${earlier.by} (${earlier.why})`);
  const named = `generation ${missing.join(', ')}`;
  if (dryRun) return ended(`would be set aside for ${named}. Dry run: nothing was changed`);
  const question = `Set ${record} aside for ${named}? Readers lack its effect until it is re-driven.`;
  if (!yes && !(await confirmed(terminal, 'set it aside', question))) return ended('was not set aside', 1);
  await setAside(control, place, missing, { by, why, at: await now() });
  return ended(
    `is set aside for ${named}: a dead letter once its batch has failed again`,
    0,
    `see: ${cli} dead-letters list --reason set_aside`,
  );
};
