import { removeDeadLetters } from '../../projector/dead-letters/collection.ts';
import { asJson, type CommandOutput } from '../output.ts';
import { UsageError } from '../usage-error.ts';
import type { DeadLettersCommand } from './command.ts';
import { countSelected, selected, type StoredDeadLettersDeps } from './select.ts';

/** `confirm` asks the operator on the terminal; null without a terminal. */
export type PurgeDeps = StoredDeadLettersDeps & { confirm: ((question: string) => Promise<boolean>) | null };

/** Deletes dead letters. */
export async function purgeDeadLetters(
  deps: PurgeDeps,
  { selection, yes, json }: Extract<DeadLettersCommand, { verb: 'dead-letters purge' }>,
): Promise<CommandOutput> {
  const count = await countSelected(deps, selection);
  if (!yes) {
    if (!deps.confirm)
      throw new UsageError(
        'there is no terminal to ask for confirmation: add --yes to delete without asking',
      );
    const question = `Delete ${count} dead letters for good? They cannot be re-driven afterwards. [y/N] `;
    if (!(await deps.confirm(question))) return { text: 'nothing was deleted\n', exitCode: 1 };
  }
  let purged = 0;
  for await (const ids of selected(deps, selection)) purged += await removeDeadLetters(deps.control, ids);
  const missing = 'ids' in selection ? selection.ids.length - purged : 0;
  const text = [
    `${purged} dead letter${purged === 1 ? '' : 's'} deleted`,
    missing > 0 ? `; ${missing} of the ids given ${missing === 1 ? 'is' : 'are'} not there` : '',
    '\n',
  ].join('');
  return { text: json ? asJson({ purged }) : text, exitCode: missing > 0 ? 1 : 0 };
}
