import type { RecordBytes } from '../../../shared/control/record-bytes.ts';
import { topicsOf } from '../../../shared/kafka/topics.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import {
  type DeadLetter,
  deadLetterDetails,
  deadLetterRows,
  verbFor,
} from '../../operations/dead-letters/details.ts';
import { type DeadLetterList, listDeadLetters, readDeadLetter } from '../../operations/dead-letters/list.ts';
import { createRecordReader, type ReadRecords } from '../../operations/dead-letters/read-records.ts';
import {
  needsLog,
  redriveSelected,
  type RedriveSummary,
} from '../../operations/dead-letters/redrive-selected.ts';
import { countSelected, purgeSelected } from '../../operations/dead-letters/select.ts';
import {
  type DeadLetterFilter,
  isFiltered,
  type Selection,
} from '../../operations/dead-letters/selection.ts';
import { shellWord } from '../../operations/deployment.ts';
import type { Row } from '../../operations/row.ts';
import { toBuffer } from '../../projector/dead-letters/dead-letter.ts';
import { configs } from '../config.ts';
import {
  confirmOrThrow,
  type Context,
  type Output,
  type Terminal,
  UsageError,
  withKafka,
} from '../context.ts';
import { type ServedDeps, withReadModel } from '../operate.ts';
import { asJson, type Flag, type Json, lines, output, rows } from '../output.ts';

/** Throws a usage error for a topic that the settings do not name. `option` is the option that names the topic. */
export function requireKnownTopic(topic: string, { TOPIC_PREFIX }: ServedDeps['config'], option = ''): void {
  const topics = topicsOf(TOPIC_PREFIX);
  if (!topics.includes(topic))
    throw new UsageError(`${option}unknown topic ${topic}; use one of ${topics.join(', ')}`);
}

function requireTopic({ topic }: DeadLetterFilter, config: ServedDeps['config']): void {
  if (topic !== undefined) requireKnownTopic(topic, config, '--topic: ');
}

type ListOptions = Json & { filter: DeadLetterFilter; limit: number };

export function list(context: Context, options: ListOptions): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { filter, limit } = options;
    requireTopic(filter, deps.config);
    const found = await listDeadLetters(deps, filter, limit);
    return output(options, found, renderList(found, filter, deps.cli));
  });
}

const detailLengthMax = 76;

/** The text on one line of a terminal, cut after a whole word. */
const shortenDetail = (text: string): string =>
  text.length <= detailLengthMax ? text : `${text.slice(0, detailLengthMax).replace(/\s+\S*$/, '')}…`;

/** Lines for a terminal of 80 columns, except for long ids. */
function renderList({ deadLetters, total, counts }: DeadLetterList, filter: DeadLetterFilter, cli: string) {
  if (total === 0) return isFiltered(filter) ? 'no dead letter matches\n' : 'no dead letters\n';
  const letters = deadLetters.flatMap(({ lastAt, id, key, orgId, count, reason, detail, bytes }) => [
    id,
    `  ${lastAt}  ${digits(count)}×  ${reason}`,
    bytes === null ? '  its bytes are in Kafka alone' : `  key ${key}  ${orgId ?? 'no org'}`,
    `  ${shortenDetail(detail)}`,
  ]);
  const sums = counts.map(({ topic, reason, count }) => `${digits(count).padStart(8)}  ${topic}  ${reason}`);
  return lines([
    ...letters,
    '',
    `${digits(deadLetters.length)} shown of ${digits(total)}:`,
    ...sums,
    'once their cause is fixed:',
    `  ${cli} dead-letters redrive --topic <topic> --reason <reason>`,
  ]);
}

type ShowOptions = Json & { id: string; raw?: Flag };

export function show(context: Context, options: ShowOptions): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { id, raw, json } = options;
    const deadLetter = await readDeadLetter(deps.control, id);
    if (raw) return showRaw(context.terminal, deadLetter, json ?? false);
    const details = deadLetterDetails(deadLetter, deps.config.TOPIC_PREFIX);
    const next = verbFor(details.reason);
    const note = next === 'purge' ? ' (no release can apply it)' : '';
    const command = `${deps.cli} dead-letters ${next} ${shellWord(id)}${note}`;
    const raws: Row = ['bytes', details.bytes === null ? null : '--raw prints them'];
    return output(options, details, rows([...deadLetterRows(details), ['next', command], raws]));
  });
}

/**
 * Outputs the original bytes of a record: the bytes of its value or, as JSON, its key, headers and value in base64.
 * Warnings go to standard error, so standard output contains only the bytes.
 */
function showRaw({ report }: Terminal, { id, bytes }: DeadLetter, json: boolean): Output {
  if (!bytes) throw new UsageError(`the bytes of ${id} are not stored: read the record from Kafka`);
  const { topic, partition, offset, timestampMs } = bytes;
  const value = toBuffer(bytes.value);
  report('These are the original bytes of the record. They may contain personal data and secrets.');
  if (!json && value === null) report('The record has no value (null).');
  if (!json) return { text: value ?? '', exitCode: 0 };
  const base64 = (part: RecordBytes['value']) => toBuffer(part)?.toString('base64') ?? null;
  const place = { id, topic, partition, offset, timestampMs, encoding: 'base64' };
  const headers = bytes.headers.map((header) => ({ name: header.name, value: base64(header.value) }));
  const record = { key: base64(bytes.key), headers, value: base64(bytes.value) };
  return { text: asJson({ ...place, ...record }), exitCode: 0 };
}

type RedriveOptions = Json & { selection: Selection; dryRun?: Flag };

export function redrive(context: Context, options: RedriveOptions): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { dryRun = false, selection } = options;
    const { cli, config } = deps;
    if ('filter' in selection) requireTopic(selection.filter, config);
    const run = (readRecords: ReadRecords | null) =>
      redriveSelected({ ...deps, readRecords }, selection, { dryRun, onProgress: context.terminal.progress });
    const summary = (await needsLog(deps.control, selection))
      ? await withKafka(context, configs.kafka(context.environment), ({ log }) =>
          run(createRecordReader(log)),
        )
      : await run(null);
    const exitCode = summary.refused > 0 || summary.notFound.length > 0 ? 1 : 0;
    return output(options, summary, renderSummary(summary, cli), exitCode);
  });
}

function renderSummary(summary: RedriveSummary, cli: string): string {
  const { dryRun, deadLetters, applied, superseded, refused, refusals, notFound } = summary;
  const would = dryRun ? 'would be ' : '';
  const more = refused - refusals.length;
  const texts = [
    `${counted(deadLetters, 'dead letter')}: ${applied} ${would}applied, ${superseded} ${would}superseded (MongoDB ` +
      `already has that version or a later one), ${refused} ${would}refused`,
  ];
  if (dryRun) texts.push('Dry run: nothing was changed.');
  for (const { id, reason, detail } of refusals) texts.push(`  ${id}  ${reason}: ${detail}`);
  if (more > 0) texts.push(`  and ${more} more: ${cli} dead-letters list`);
  for (const id of notFound) texts.push(`  ${id}  there is no such dead letter`);
  return lines(texts);
}

type PurgeOptions = Json & { selection: Selection; yes?: Flag; dryRun?: Flag };

export function purge(context: Context, options: PurgeOptions): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { control, config, by, now } = deps;
    const { selection, yes, dryRun } = options;
    if ('filter' in selection) requireTopic(selection.filter, config);
    const count = await countSelected(control, selection);
    const question = `Delete ${counted(count, 'dead letter')} for good? No redrive is possible afterwards.`;
    if (!yes && !dryRun && !(await confirmOrThrow(context.terminal, 'delete', question)))
      return { text: 'nothing was deleted\n', exitCode: 1 };
    const purged = dryRun ? count : await purgeSelected(control, selection, { at: await now(), by });
    const missing = 'ids' in selection ? selection.ids.length - count : 0;
    const notFound = missing > 0 ? `; not found: ${counted(missing, 'id')}` : '';
    const outcome = dryRun ? 'would be deleted. Dry run: nothing was changed' : 'deleted';
    const text = lines([`${counted(purged, 'dead letter')} ${outcome}${notFound}`]);
    return output(options, { dryRun: dryRun ?? false, purged }, text, missing > 0 ? 1 : 0);
  });
}
