import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { placeText } from '../../shared/control/ledger.ts';
import { requestIdShape } from '../../shared/control/request-traces.ts';
import { recordTimeText } from '../../shared/documents/instant.ts';
import { shellWord } from '../operations/deployment.ts';
import { explain, idInTrace } from '../operations/explain/explain.ts';
import type { Explanation } from '../operations/explain/explanation.ts';
import { documentRows, type Ingredient, ingredients, notFoundText } from '../operations/explain/rows.ts';
import type { Row } from '../operations/row.ts';
import { readTrace, traceRows } from '../operations/traces/read-trace.ts';
import type { Context, Output, SelectVerb } from './context.ts';
import { withControlDatabase, withReadModel } from './operate.ts';
import { exampleHelp, jsonOption } from './options.ts';
import { type Json, lines, output, rows } from './output.ts';

export function addExplain(program: Command, select: SelectVerb): void {
  program
    .command('explain')
    .description(
      'print the Kafka records that a document was made from, its references, the records that were refused, and how it\n' +
        'differs from a fresh join',
    )
    .argument('<id>', 'the id of a document of any kind, or the Request-Id of a request that named one')
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code 1 if there is no document and no dead letter.')
    .addHelpText('after', exampleHelp('explain ti_01K3QZ8M4T', 'explain req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((id, options) => select(printExplanation, { id, ...options }));
}

export function addTrace(program: Command, select: SelectVerb): void {
  program
    .command('trace')
    .description('print the stored trace of one API request')
    .argument('<Request-Id>', 'from the Request-Id header of the response', parseRequestId)
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('trace req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((requestId, options) => select(printTrace, { requestId, ...options }));
}

function parseRequestId(text: string): string {
  if (requestIdShape.test(text)) return text;
  throw new InvalidArgumentError('A request id is req_ and 26 characters.');
}

function printTrace(context: Context, options: Json & { requestId: string }): Promise<Output> {
  return withControlDatabase(context, async ({ control }) => {
    const trace = await readTrace(control, options.requestId);
    return output(options, trace, rows(traceRows(trace)));
  });
}

function printExplanation(context: Context, options: Json & { id: string }): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { control, cli } = deps;
    const isRequest = requestIdShape.test(options.id);
    const id = isRequest ? idInTrace(await readTrace(control, options.id)) : options.id;
    const explanation = await explain(deps, id);
    const isUnknown = explanation.documents.length + explanation.refused.length === 0;
    return output(options, explanation, renderExplanation(explanation, cli), isUnknown ? 1 : 0);
  });
}

function renderExplanation(explanation: Explanation, cli: string): string {
  const { documents, now } = explanation;
  const explained = documents.map((document) => {
    const facts = [...documentRows(document, now), ...ingredients(document).map(ingredientRow)];
    return lines([`${document.kind} ${document.id}`]) + rows(facts, '  ');
  });
  const refused = explanation.refused.map(({ id, version, reason, detail }): Row => {
    const versionText = version === null ? '' : `version ${version}, `;
    return [
      'refused',
      `${id.split('@')[0]}, ${versionText}${reason}: ${detail} → ${cli} dead-letters show ${shellWord(id)}`,
    ];
  });
  const requests = explanation.requests.map(({ id, time, status, code, key }): Row => [
    id,
    `${time}, ${status}${code ? ` ${code}` : ''}, ${key ?? 'no key accepted'}`,
  ]);
  const parts = documents.length === 0 ? [lines([notFoundText(explanation)])] : explained;
  if (refused.length > 0) parts.push(`refused records\n${rows(refused, '  ')}`);
  if (requests.length > 0) parts.push(`latest requests\n${rows(requests, '  ')}`);
  return parts.join('\n');
}

function ingredientRow({ field, kind, id, status, version, record, fields }: Ingredient): Row {
  const versionText = version === null ? '' : ` version ${version}`;
  const source = record
    ? `${versionText}, ${placeText(record)}, ${recordTimeText(record.time)}`
    : versionText;
  return [field, `${kind} ${id}: ${status}${source}${fields.length > 0 ? ` (${fields.join(', ')})` : ''}`];
}
