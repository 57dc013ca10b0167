import { counted, digits } from '../../../shared/runtime/counted.ts';
import {
  deadLetterDetails,
  deadLetterRows,
  listDeadLetters,
  readDeadLetter,
  type DeadLetterList,
} from '../../operations/dead-letters/list.ts';
import {
  redriveSelected,
  type RedriveSelectedDeps,
  type RedriveSummary,
} from '../../operations/dead-letters/redrive-selected.ts';
import {
  countSelected,
  purgeSelected,
  type DeadLetterFilter,
  type Selection,
} from '../../operations/dead-letters/select.ts';
import { createStoreClock, storeTime } from '../../../shared/store/clock.ts';
import type { DeadLetter } from '../../../shared/control/dead-letters.ts';
import { buffer } from '../../projector/dead-letters/dead-letter.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import { requireTopic } from '../require-topic.ts';
import { configs } from '../config.ts';
import { UsageError, withMongo, type CommandOutput, type Context, type Terminal } from '../context.ts';
import { operatorName } from '../operator.ts';
import { rawOutput } from '../raw-output.ts';
import { output, rows, type Json } from '../output.ts';

type Deps = RedriveSelectedDeps & { by: string };
type Verb<O> = (deps: Deps, options: O, terminal: Terminal) => Promise<CommandOutput>;

/** Connects a verb to MongoDB. */
export const withServers =
  <O>(run: Verb<O>) =>
  ({ environment, terminal }: Context, options: O): Promise<CommandOutput> => {
    const config = configs.deadLetters(environment);
    return withMongo(config, async (clients) => {
      const { read, now } = createStoreClock(
        () => storeTime(clients.control),
        () => performance.now(),
      );
      await requireRegistry(clients.control);
      await read();
      return run({ ...clients, config, by: operatorName(config.OPERATOR), now }, options, terminal);
    });
  };

function requireSelection(selection: Selection, { TOPIC_PREFIX }: RedriveSelectedDeps['config']): void {
  if ('filter' in selection) requireTopic('--topic', selection.filter.topic, TOPIC_PREFIX);
}

export const list: Verb<Json & { filter: DeadLetterFilter; limit: number }> = async (deps, options) => {
  const { filter, limit } = options;
  requireTopic('--topic', filter.topic, deps.config.TOPIC_PREFIX);
  const found = await listDeadLetters(deps, filter, { limit });
  return output(options, found, renderList(found));
};

const detailLengthMax = 80;

function renderList({ deadLetters, total, counts }: DeadLetterList): string {
  if (total === 0) return 'no dead letters\n';
  const lines = deadLetters.map(({ lastAt, id, key, orgId, count, reason, detail, next }) => {
    const short = detail.length > detailLengthMax ? `${detail.slice(0, detailLengthMax)}…` : detail;
    return `${lastAt}  ${id}  key ${key}  ${orgId ?? 'no org'}  ${digits(count)}×  ${reason}: ${short}${next ? `  → ${next}` : ''}`;
  });
  const isRefused = deadLetters.some(({ next }) => next === 'purge');
  const advice = isRefused ? ['→ purge: a redrive by this release would be refused again', ''] : [];
  const sums = counts.map(({ topic, reason, count }) => `${digits(count).padStart(8)}  ${topic}  ${reason}`);
  return [
    ...lines,
    '',
    ...advice,
    `${digits(deadLetters.length)} shown of ${digits(total)}:`,
    ...sums,
    '',
  ].join('\n');
}

export const show: Verb<Json & { id: string; raw?: true | undefined }> = async (deps, options, terminal) => {
  const { id, raw, json } = options;
  const deadLetter = await readDeadLetter(deps.control, id);
  if (raw) return showRaw(terminal, deadLetter, json ?? false);
  const details = deadLetterDetails(deadLetter, deps.config.TOPIC_PREFIX);
  return output(options, details, rows([...deadLetterRows(details), ['bytes', '--raw prints them']]));
};

function showRaw(terminal: Terminal, deadLetter: DeadLetter, json: boolean): CommandOutput {
  const { _id: id, topic, partition, offset, timestampMs, truncated } = deadLetter;
  const value = buffer(deadLetter.value);
  const headers = deadLetter.headers.map((header) => ({ name: header.name, value: buffer(header.value) }));
  const place = { id, topic, partition, offset, timestampMs, truncated };
  const output = rawOutput(terminal, place, { key: buffer(deadLetter.key), headers, value }, json);
  if (truncated)
    terminal.report(
      `Only the first ${digits(value?.length ?? 0)} of ${counted(truncated.valueBytes, 'byte')} are kept.`,
    );
  return output;
}

export const redrive: Verb<Json & { selection: Selection; dryRun?: true | undefined }> = async (
  deps,
  options,
  { progress },
) => {
  requireSelection(options.selection, deps.config);
  const { dryRun = false, selection } = options;
  const summary = await redriveSelected(deps, selection, { dryRun, onProgress: progress });
  const exitCode = summary.refused > 0 || summary.notFound.length > 0 ? 1 : 0;
  return output(options, summary, renderSummary(summary), exitCode);
};

function renderSummary(summary: RedriveSummary): string {
  const { dryRun, deadLetters, applied, superseded, refused, refusals, notFound } = summary;
  const would = dryRun ? 'would be ' : '';
  const more = refused - refusals.length;
  return [
    `${counted(deadLetters, 'dead letter')}: ${applied} ${would}applied, ${superseded} ${would}superseded (MongoDB ` +
      `already has that version or a later one), ${refused} ${would}refused`,
    ...(dryRun ? ['Dry run: nothing was changed.'] : []),
    ...refusals.map(({ id, reason, detail }) => `  ${id}  ${reason}: ${detail}`),
    ...(more > 0 ? [`  and ${more} more: dead-letters list shows them`] : []),
    ...notFound.map((id) => `  ${id}  there is no such dead letter`),
    '',
  ].join('\n');
}

export const purge: Verb<
  Json & { selection: Selection; yes?: true | undefined; dryRun?: true | undefined }
> = async ({ control, config, by, now }, options, { confirm }) => {
  const { selection, yes, dryRun } = options;
  requireSelection(selection, config);
  const count = yes && !dryRun ? 0 : await countSelected(control, selection);
  if (!yes && !dryRun) {
    if (!confirm)
      throw new UsageError(
        'there is no terminal to ask for confirmation: add --yes to delete without asking',
      );
    const question = `Delete ${counted(count, 'dead letter')} for good? No re-drive is possible afterwards. [y/N] `;
    if (!(await confirm(question))) return { text: 'nothing was deleted\n', exitCode: 1 };
  }
  const purged = dryRun ? count : await purgeSelected(control, selection, { at: now(), by });
  const missing = 'ids' in selection ? selection.ids.length - purged : 0;
  const notFound = missing > 0 ? `; not found: ${counted(missing, 'id')}` : '';
  const outcome = dryRun ? 'would be deleted. Dry run: nothing was changed' : 'deleted';
  const text = `${counted(purged, 'dead letter')} ${outcome}${notFound}\n`;
  return output(options, { dryRun: dryRun ?? false, purged }, text, missing > 0 ? 1 : 0);
};
