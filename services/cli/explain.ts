import { createHash } from 'node:crypto';
import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { recordTime, recordTimeText } from '../../shared/documents/instant.ts';
import { counted } from '../../shared/runtime/counted.ts';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import { explain, idInTrace, type Explanation } from '../operations/explain/explain.ts';
import { readLogRecord, type RecordPlace } from '../operations/explain/read-record.ts';
import {
  documentRows,
  ingredients,
  notFoundText,
  placeText,
  type Ingredient,
} from '../operations/explain/rows.ts';
import { decodeHeaders } from '../projector/events/headers.ts';
import type { KafkaRecord } from '../projector/kafka/record-format.ts';
import { configs } from './config.ts';
import { withKafka, withMongo, type Accept, type CommandOutput, type Context } from './context.ts';
import { example, jsonOption, recordPlace } from './options.ts';
import { output, rows, type Json, type Row } from './output.ts';
import { rawOutput } from './raw-output.ts';
import { requireTopic } from './require-topic.ts';

export function addExplain(program: Command, accept: Accept): void {
  program
    .command('explain')
    .description(
      'print the Kafka records that a document was made from, its references, the records that were refused, and how it\n' +
        'differs from a fresh join; or print one record of a log',
    )
    .argument('[id]', 'the id of a document of any kind, or the Request-Id of a request that named one')
    .option(
      '--record <place>',
      'a record of a log: <topic>/<partition>/<offset>, or the id of a dead letter',
      placeOf,
    )
    .option(
      '--raw',
      'with --record: print the original bytes of the value; with --json, key, headers and value in base64',
    )
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code 1 if there is no document, no dead letter and no record.')
    .addHelpText(
      'after',
      example(
        'explain ti_01K3QZ8M4T',
        'explain req_01HNZX8JGFACFA36RBXDHEQN6E',
        'explain --record support.contacts/4/194',
      ),
    )
    .action((id, { record, raw, json }, verb) => {
      if ((id === undefined) === (record === undefined))
        verb.error('give exactly one of: an id, or --record');
      if (record) accept(printRecord, { place: record, raw, json });
      else if (raw) verb.error('--raw goes with --record');
      else accept(printExplanation, { id: id ?? '', json });
    });
}

function placeOf(text: string): RecordPlace {
  const [, topic, partition, offset] = recordPlace.exec(text) ?? [];
  if (topic) return { topic, partition: Number(partition), offset: Number(offset) };
  throw new InvalidArgumentError('The place of a record is <topic>/<partition>/<offset>.');
}

async function printExplanation(
  { environment }: Context,
  options: Json & { id: string },
): Promise<CommandOutput> {
  const config = configs.topicsInMongo(environment);
  const explanation = await withMongo(config, async ({ mongo, control }) =>
    explain(
      { mongo, config },
      requestIdShape.test(options.id) ? await idInTrace(control, options.id) : options.id,
    ),
  );
  const isUnknown = explanation.documents.length + explanation.refused.length === 0;
  return output(options, explanation, renderExplanation(explanation), isUnknown ? 1 : 0);
}

async function printRecord(
  context: Context,
  { place, raw, json }: Json & { place: RecordPlace; raw: true | undefined },
): Promise<CommandOutput> {
  const config = configs.kafka(context.environment);
  requireTopic('--record', place.topic, config.TOPIC_PREFIX);
  const record = await withKafka(context, config, ({ log }) => readLogRecord(log, place));
  const headers = decodeHeaders(record.headers);
  const { timestampMs } = record.position;
  if (raw)
    return rawOutput(context.terminal, { ...place, timestampMs }, { ...record, headers }, json ?? false);
  const facts = recordFacts(record, headers);
  return output(
    { json },
    { ...place, timestampMs, ...facts },
    renderRecord({ ...place, timestampMs, ...facts }),
  );
}

/** The facts of a record that hold no personal data. */
const recordFacts = ({ key, value }: KafkaRecord, headers: ReturnType<typeof decodeHeaders>) => ({
  keyBytes: key?.length ?? null,
  headers: headers.map((header) => ({ name: header.name, bytes: header.value?.length ?? null })),
  valueBytes: value?.length ?? null,
  sha256: value && createHash('sha256').update(value).digest('hex'),
});

const sizeText = (bytes: number | null) => (bytes === null ? 'null' : counted(bytes, 'byte'));

const renderRecord = (
  record: RecordPlace & { timestampMs: number } & ReturnType<typeof recordFacts>,
): string =>
  rows([
    ['record', `${record.topic}/${record.partition}/${record.offset}`],
    ['timestamp', recordTimeText(recordTime(record.timestampMs))],
    ['key', sizeText(record.keyBytes)],
    ...record.headers.map(({ name, bytes }): Row => ['header', `${name}: ${sizeText(bytes)}`]),
    [
      'value',
      `${sizeText(record.valueBytes)}${record.sha256 ? `, SHA-256 ${record.sha256}` : ''}; --raw prints it`,
    ],
  ]);

/** Renders an explanation as text. */
function renderExplanation(explanation: Explanation): string {
  const { documents, now } = explanation;
  const explained = documents.map((document) => {
    const facts = [...documentRows(document, now), ...ingredients(document).map(ingredientRow)];
    return `${document.kind} ${document.id}\n${rows(facts, '  ')}`;
  });
  const refused = explanation.refused.map(({ id, version, reason, detail }): Row => {
    const versionText = version === null ? '' : `version ${version}, `;
    return ['refused', `${id.split('@')[0]}, ${versionText}${reason}: ${detail} → dead-letters show ${id}`];
  });
  const requests = explanation.requests.map(({ id, time, status, code, key }): Row => [
    id,
    `${time}, ${status}${code ? ` ${code}` : ''}, ${key ?? 'no key accepted'}`,
  ]);
  return [
    ...(documents.length === 0 ? [`${notFoundText(explanation)}\n`] : explained),
    ...(refused.length > 0 ? [`refused records\n${rows(refused, '  ')}`] : []),
    ...(requests.length > 0 ? [`latest requests\n${rows(requests, '  ')}`] : []),
  ].join('\n');
}

function ingredientRow({ field, kind, id, status, version, record, fields }: Ingredient): Row {
  const versionText = version === null ? '' : ` version ${version}`;
  const source = record
    ? `${versionText}, ${placeText(record)}, ${recordTimeText(record.time)}`
    : versionText;
  return [field, `${kind} ${id}: ${status}${source}${fields.length > 0 ? ` (${fields.join(', ')})` : ''}`];
}
