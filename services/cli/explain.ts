import type { Command } from '@commander-js/extra-typings';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import {
  explain,
  idInTrace,
  type ExplainedDocument,
  type ExplainedReference,
  type Explanation,
  type SourceRecord,
} from '../operations/explain/explain.ts';
import { configs } from './config.ts';
import { withMongo, type Accept, type CommandOutput, type Context } from './context.ts';
import { example, jsonOption } from './options.ts';
import { output, rows, type Json, type Row } from './output.ts';

export function addExplain(program: Command, accept: Accept): void {
  program
    .command('explain')
    .description(
      'print the Kafka records that a document was made from, its references, and how it differs from a fresh join',
    )
    .argument('<id>', 'the id of a document of any kind, or the Request-Id of a request that named one')
    .addOption(jsonOption())
    .addHelpText('after', example('explain ti_01K3QZ8M4T', 'explain req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((id, options) => accept(printExplanation, { id, ...options }));
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
  return output(options, explanation, renderExplanation(explanation));
}

/** Renders an explanation as text. */
const renderExplanation = ({ id, now, completeTo, documents }: Explanation): string =>
  documents.length === 0
    ? `${id}: no living generation has a document with this id. Either no record of it was applied, its record is a dead letter ` +
      `(dead-letters list), or its tombstone has expired. Complete up to ${completeTo ?? 'no instant yet'}.\n`
    : documents.map((document) => renderDocument(document, now)).join('\n');

function renderDocument(document: ExplainedDocument, now: string): string {
  const { id, kind, generation, generationState, orgId, version, status, partition } = document;
  const state =
    generationState === 'active' ? 'the active generation' : `a generation that is ${generationState}`;
  const seconds = partition && Math.round((Date.parse(now) - Date.parse(partition.completeTo)) / 1_000);
  const waiting = partition && partition.end - partition.position;
  const fields = rows(
    [
      ['generation', `${generation}, ${state}`],
      ['organization', orgId ?? 'unknown'],
      [
        'status',
        status === 'pending' ? 'pending: not served, because a required reference is missing' : status,
      ],
      ['version', String(version)],
      ['record', document.record && recordText(document.record)],
      ['tombstone', document.tombstone && recordText(document.tombstone)],
      [
        'partition',
        partition && `complete up to ${partition.completeTo} (${seconds} s ago), ${waiting} records to apply`,
      ],
      [
        'fan-out',
        document.fanOut &&
          `in progress: ${document.fanOut.from} after ${document.fanOut.after || 'the start'}`,
      ],
      ['fresh join', freshJoinText(document.outdated)],
      ['vs active', document.differsFromActive && (document.differsFromActive.join(', ') || 'no difference')],
    ],
    '  ',
  );
  return `${kind} ${id}\n${fields}${rows(document.references.map(referenceRow), '  ')}`;
}

const freshJoinText = (outdated: ExplainedDocument['outdated']): string => {
  if (!outdated) return 'not checked: another release joins the documents of this generation';
  return outdated.length === 0 ? 'no difference' : `differs in ${outdated.join(', ')}`;
};

const recordText = ({ topic, partition, offset, time }: SourceRecord): string =>
  `${topic}/${partition} offset ${offset}, ${time}`;

function referenceRow({ edge, kind, id, status, version, record, fields }: ExplainedReference): Row {
  const source = record ? ` version ${version}, ${recordText(record)}` : '';
  return [edge, `${kind} ${id}: ${status}${source}${fields.length > 0 ? ` (${fields.join(', ')})` : ''}`];
}
