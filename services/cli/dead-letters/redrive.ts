import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { redrive, type Redriven, type RedriveDeps } from '../../operations/dead-letters/redrive.ts';
import { asJson, type CommandOutput } from '../output.ts';
import type { DeadLettersCommand } from './command.ts';
import { countSelected, selected } from './select.ts';

/** `progress` receives the number of dead letters done, and the total. */
export type RedriveVerbDeps = Omit<RedriveDeps, 'store' | 'generation'> & {
  /** The generations to re-drive on, with their stores. */
  targets: Pick<RedriveDeps, 'store' | 'generation'>[];
  progress: (done: number, total: number) => void;
};

/** The maximum number of refused dead letters that are named. The rest are counted; `list` shows them. */
const refusalsListedMax = 100;

type Summary = {
  dryRun: boolean;
  deadLetters: number;
  applied: number;
  superseded: number;
  refused: number;
  refusals: Extract<Redriven, { outcome: 'refused' }>[];
  notFound: string[];
};

export async function redriveDeadLetters(
  deps: RedriveVerbDeps,
  { selection, dryRun, json }: Extract<DeadLettersCommand, { verb: 'dead-letters redrive' }>,
): Promise<CommandOutput> {
  const total = await countSelected(deps, selection);
  const counts = { deadLetters: 0, applied: 0, superseded: 0, refused: 0 };
  const summary: Summary = { dryRun, ...counts, refusals: [], notFound: [] };
  const missing = new Set('ids' in selection ? selection.ids : []);
  for await (const ids of selected(deps, selection)) {
    const deadLetters = await deadLettersOf(deps.control)
      .find({ _id: { $in: ids } })
      .toArray();
    const results = await redriveOnEach(deps, deadLetters, dryRun).catch((error: unknown) => {
      const reason = errorMessage(error);
      const chunk = `${ids.length} dead letters starting at ${ids[0] ?? ''}`;
      throw new Error(
        `${chunk}: ${reason}. ${summary.deadLetters} dead letters were done before; run the command again for the rest`,
      );
    });
    for (const result of results) add(summary, result);
    for (const id of ids) missing.delete(id);
    deps.progress(summary.deadLetters, total);
  }
  summary.notFound = [...missing];
  const exitCode = summary.refused > 0 || summary.notFound.length > 0 ? 1 : 0;
  return { text: json ? asJson(summary) : render(summary), exitCode };
}

/** Re-drives on every generation that lacks the record. The outcome is the worst: what one refuses stays. */
async function redriveOnEach(
  { targets, ...deps }: RedriveVerbDeps,
  deadLetters: DeadLetter[],
  dryRun: boolean,
): Promise<Redriven[]> {
  const worst = new Map<string, Redriven>();
  const severity = { superseded: 0, applied: 1, refused: 2 };
  for (const target of targets) {
    const open = deadLetters.filter(({ generations }) => generations.includes(target.generation));
    for (const result of await redrive({ ...deps, ...target }, open, { dryRun })) {
      const before = worst.get(result.id);
      if (!before || severity[result.outcome] > severity[before.outcome]) worst.set(result.id, result);
    }
  }
  return deadLetters.map((deadLetter) => worst.get(deadLetter._id) ?? openElsewhere(deadLetter));
}

const openElsewhere = ({ _id: id, generations }: DeadLetter): Redriven => ({
  id,
  outcome: 'refused',
  reason: 'other_version',
  detail: `it is open for generation ${generations.join(', ')} only, of another release: re-drive it with that release`,
});

function add(summary: Summary, result: Redriven): void {
  summary.deadLetters += 1;
  summary[result.outcome] += 1;
  if (result.outcome !== 'refused' || summary.refusals.length >= refusalsListedMax) return;
  summary.refusals.push(result);
}

function render(summary: Summary): string {
  const { dryRun, deadLetters, applied, superseded, refused, refusals, notFound } = summary;
  const would = dryRun ? 'would be ' : '';
  const more = refused - refusals.length;
  return [
    `${deadLetters} dead letters: ${applied} ${would}applied, ${superseded} ${would}superseded (the store ` +
      `already has that version or a later one), ${refused} ${would}refused`,
    ...(dryRun ? ['Dry run: nothing was changed.'] : []),
    ...refusals.map(({ id, reason, detail }) => `  ${id}  ${reason}: ${detail}`),
    ...(more > 0 ? [`  and ${more} more: dead-letters list shows them`] : []),
    ...notFound.map((id) => `  ${id}  there is no such dead letter`),
    '',
  ].join('\n');
}
