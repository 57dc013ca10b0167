import type { Command } from '@commander-js/extra-typings';
import { createTopics } from '../operations/topics/create-topics.ts';
import { configs } from './config.ts';
import { withKafka, type Accept, type Context } from './context.ts';
import { example, wholeNumber } from './options.ts';

export function addTopics(program: Command, accept: Accept): void {
  program
    .command('topics')
    .helpCommand(false)
    .description('the Kafka topics that carry the events')
    .command('create')
    .description('create the topics that do not exist yet')
    .option('--partitions <n>', 'partitions of each topic, 1 to 1000', wholeNumber(1_000), 3)
    .addHelpText('after', example('topics create --partitions 6'))
    .action((options) => accept(create, options));
}

function create(context: Context, { partitions }: { partitions: number }): Promise<string> {
  const config = configs.kafka(context.environment);
  return withKafka(context, config, ({ admin }) => createTopics(admin, config.TOPIC_PREFIX, partitions));
}
