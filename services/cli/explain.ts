import type { Command } from '@commander-js/extra-typings';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import { explain, idInTrace, type Explanation } from '../operations/explain/explain.ts';
import { explainedRows, notFoundText, requestRows } from '../operations/explain/rows.ts';
import { configs } from './config.ts';
import { withMongo, type Accept, type CommandOutput, type Context } from './context.ts';
import { example, jsonOption } from './options.ts';
import { output, rows, type Json } from './output.ts';

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
function renderExplanation(explanation: Explanation): string {
  const { documents, now } = explanation;
  const explained = documents.map(
    (document) => `${document.kind} ${document.id}\n${rows(explainedRows(document, now), '  ')}`,
  );
  const requests = requestRows(explanation);
  return [
    ...(documents.length === 0 ? [`${notFoundText(explanation)}\n`] : explained),
    ...(requests.length > 0 ? [`latest requests\n${rows(requests, '  ')}`] : []),
  ].join('\n');
}
