import type { Command } from '@commander-js/extra-typings';
import { describeHidden } from '../../shared/kafka/find-topics.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { createTopics, partitionsDefault, type TopicOptions } from '../operations/topics/create-topics.ts';
import { configs } from './config.ts';
import { type Context, type Output, type SelectVerb, withKafka } from './context.ts';
import { exampleHelp, wholeNumber } from './options.ts';
import { lines } from './output.ts';

export function addTopics(program: Command, select: SelectVerb): void {
  const group = program
    .command('topics')
    .helpCommand(false)
    .description('the Kafka topics that carry the events');
  group
    .command('create')
    .description('create the topics that do not exist yet')
    .option('--partitions <n>', 'partitions of each topic, 1 to 1000', wholeNumber(1_000), partitionsDefault)
    .option(
      '--replication-factor <n>',
      'replicas of each partition; the default of the brokers if absent',
      wholeNumber(100),
    )
    .option(
      '--min-insync-replicas <n>',
      'replicas that must have a record before it counts as written; the default of the brokers if absent',
      wholeNumber(100),
    )
    .addHelpText(
      'after',
      exampleHelp(
        'topics create --partitions 12',
        'topics create --replication-factor 3 --min-insync-replicas 2',
      ),
    )
    .action((options) => select(create, options));
}

function create(context: Context, options: TopicOptions): Promise<Output> {
  const config = configs.kafka(context.environment);
  return withKafka(context, config, async ({ admin, log }) => {
    // A topic that this user may not see may exist, although the list of topics lacks it. The verb must not create it.
    const { hidden } = await log.find(topicsOf(config.TOPIC_PREFIX));
    if (hidden.length > 0) throw new Error(describeHidden(hidden));
    return { text: lines(await createTopics(admin, config.TOPIC_PREFIX, options)), exitCode: 0 };
  });
}
