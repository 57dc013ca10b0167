import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { requestIdShape, type RequestTrace } from '../../shared/store/request-traces.ts';
import { readTrace } from '../operations/traces/read-trace.ts';
import { configs } from './config.ts';
import { withMongo, type Accept, type CommandOutput, type Context } from './context.ts';
import { example, jsonOption } from './options.ts';
import { output, rows, type Json, type Row } from './output.ts';

export function addTrace(program: Command, accept: Accept): void {
  program
    .command('trace')
    .description('print the stored trace of one API request')
    .argument('<Request-Id>', 'from the Request-Id header of the response', requestIdOf)
    .addOption(jsonOption())
    .addHelpText('after', example('trace req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((requestId, options) => accept(printTrace, { requestId, ...options }));
}

function requestIdOf(text: string): string {
  if (requestIdShape.test(text)) return text;
  throw new InvalidArgumentError('A request id is req_ and 26 characters.');
}

async function printTrace(
  { environment }: Context,
  options: Json & { requestId: string },
): Promise<CommandOutput> {
  const trace = await withMongo(configs.mongo(environment), ({ control }) =>
    readTrace(control, options.requestId),
  );
  return output(options, trace, renderTrace(trace));
}

/** Renders a trace as text, one line for each field that is known. */
function renderTrace(trace: RequestTrace): string {
  const parameters = trace.parameters.map(
    ({ name, values }) => `${name}${values === null ? ' (value not kept)' : ` = ${values.join(', ')}`}`,
  );
  return rows([
    ['request', trace._id],
    ['time', trace.at.toISOString()],
    ['method', trace.method ?? 'none: the request could not be parsed'],
    ['route', trace.route ?? 'none: no route matched, or the request was refused before routing'],
    ['id', trace.pathId],
    ...parameters.map((text, index): Row => [index === 0 ? 'parameters' : '', text]),
    ['status', `${trace.status}${trace.aborted ? ', the connection closed before the response ended' : ''}`],
    ['error', trace.code],
    ['duration', `${trace.durationMs} ms`],
    ['key', trace.keyId ?? 'none accepted'],
    ['org', trace.orgId],
    ['replica', trace.replica],
    ['kept until', trace.expiresAt.toISOString()],
  ]);
}
