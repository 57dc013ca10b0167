import { kinds } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';

/** API keys are found by their tokens, and are few: they stay on one shard, so that authentication queries one shard. */
const sharded = kinds.filter((kind) => kind !== 'apiKey');

/** Commands name their organizations, so `mongos` sends them to the shards of those. */
const key = '{ orgId: 1, _id: 1 }';

/** The commands for `mongosh` that shard the documents of a generation. It is safe to run them again. */
export function shardPlan(database: string): string {
  const commands = sharded.flatMap((kind) => {
    const { collection } = resources[kind];
    return [
      `db.getSiblingDB("${database}").${collection}.createIndex(${key}, { name: "shardKey" });`,
      `sh.shardCollection("${database}.${collection}", ${key});`,
    ];
  });
  return [`sh.enableSharding("${database}");`, ...commands, ''].join('\n');
}
