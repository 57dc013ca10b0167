import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import { readTrace, traceRows, type FoundTrace } from '../operations/traces/read-trace.ts';
import { configs } from './config.ts';
import { withMongo, type Accept, type CommandOutput, type Context } from './context.ts';
import { example, jsonOption } from './options.ts';
import { output, rows, type Json } from './output.ts';

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

const renderTrace = (trace: FoundTrace): string => rows(traceRows(trace));
