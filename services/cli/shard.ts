import type { Command } from '@commander-js/extra-typings';
import { generationDatabaseName } from '../../shared/store/connection.ts';
import { readRegistry } from '../../shared/control/generations.ts';
import { shardPlan } from '../operations/sharding/plan.ts';
import { configs } from './config.ts';
import { withMongo, type Accept, type Context } from './context.ts';
import { example, wholeNumber } from './options.ts';

export function addShard(program: Command, accept: Accept): void {
  program
    .command('shard')
    .helpCommand(false)
    .description('collections on a sharded cluster')
    .command('plan')
    .description('print the commands for mongosh that shard the documents of a generation')
    .argument('[generation]', 'its number; by default the newest', wholeNumber(Number.MAX_SAFE_INTEGER))
    .addHelpText('after', '\nRun them before a projector loads the generation: MongoDB then moves no data.')
    .addHelpText('after', example('shard plan 2'))
    .action((generation) => accept(plan, { generation }));
}

async function plan(
  { environment }: Context,
  { generation }: { generation: number | undefined },
): Promise<string> {
  const config = configs.mongo(environment);
  const number = generation ?? (await withMongo(config, ({ control }) => newest(control)));
  return shardPlan(generationDatabaseName(config.DATABASE_NAME, number));
}

/** The first projector creates generation 1, and the registry. */
async function newest(control: Parameters<typeof readRegistry>[0]): Promise<number> {
  const registry = await readRegistry(control);
  const kept = registry?.generations.filter(({ state }) => state !== 'dropped' && state !== 'dropping') ?? [];
  return Math.max(1, ...kept.map(({ number }) => number));
}
