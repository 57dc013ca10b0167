import type { Command } from '@commander-js/extra-typings';
import { readStatus, type Status } from '../operations/status/status.ts';
import { boundedCount, pendingText } from '../operations/status/texts.ts';
import { configs } from './config.ts';
import { withKafka, withMongo, type Accept, type CommandOutput, type Context } from './context.ts';
import { example, jsonOption } from './options.ts';
import { output, table, type Json } from './output.ts';

export function addStatus(program: Command, accept: Accept): void {
  program
    .command('status')
    .description(
      'print position, end and lag of each partition, pending documents, dead letters, the watermark, topics whose ' +
        'settings make a rebuild unsafe, and an estimate of the documents of each kind',
    )
    .addOption(jsonOption())
    .addHelpText('after', example('status', 'status --json | jq .deadLetters'))
    .action((options) => accept(printStatus, options));
}

async function printStatus(context: Context, options: Json): Promise<CommandOutput> {
  const config = configs.everything(context.environment);
  const status = await withKafka(context, config, ({ admin, log }) =>
    withMongo(config, ({ mongo }) => readStatus({ admin, log, mongo, config })),
  );
  return output(options, status, renderStatus(status));
}

export function renderStatus(status: Status): string {
  const rows = status.partitions.map(({ topic, partition, position, end, lag }) => [
    topic,
    ...[partition, position, end ?? 'unknown', lag ?? 'unknown'].map(String),
  ]);
  const counts = Object.entries(status.documents).map(([kind, count]) => [kind, String(count)]);
  return [
    `generation    ${status.generation ?? 'none yet'}`,
    `watermark     ${status.watermark ?? 'none yet'}`,
    `dead letters  ${boundedCount(status.deadLetters)}`,
    `pending       ${pendingText(status.pending)}`,
    ...status.warnings.map((warning) => `warning       ${warning}`),
    '',
    table(['documents', 'estimate'], counts),
    table(['topic', 'partition', 'position', 'end', 'lag'], rows),
  ].join('\n');
}
