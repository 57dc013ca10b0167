import { InvalidArgumentError, type Command } from '@commander-js/extra-typings';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import { readTrace, traceRows } from '../operations/traces/read-trace.ts';
import type { Accept } from './context.ts';
import { onMongo, type MongoVerb } from './operate.ts';
import { example, jsonOption } from './options.ts';
import { output, rows, type Json } from './output.ts';

export function addTrace(program: Command, accept: Accept): void {
  program
    .command('trace')
    .description('print the stored trace of one API request')
    .argument('<Request-Id>', 'from the Request-Id header of the response', requestIdOf)
    .addOption(jsonOption())
    .addHelpText('after', example('trace req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((requestId, options) => accept(onMongo(printTrace), { requestId, ...options }));
}

function requestIdOf(text: string): string {
  if (requestIdShape.test(text)) return text;
  throw new InvalidArgumentError('A request id is req_ and 26 characters.');
}

const printTrace: MongoVerb<Json & { requestId: string }> = async ({ control }, options) => {
  const trace = await readTrace(control, options.requestId);
  return output(options, trace, rows(traceRows(trace)));
};
