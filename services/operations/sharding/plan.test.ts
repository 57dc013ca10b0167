import { runInNewContext } from 'node:vm';
import { shardPlan } from './plan.ts';

/** Runs the plan as `mongosh` does. Returns the calls that it makes. */
function callsOf(plan: string): unknown[][] {
  const calls: unknown[][] = [];
  const record =
    (...path: unknown[]) =>
    (...values: unknown[]) =>
      calls.push([...path, ...values]);
  const collections = (database: string) =>
    new Proxy(
      {},
      { get: (_, name) => ({ createIndex: record('createIndex', `${database}.${String(name)}`) }) },
    );
  runInNewContext(plan, {
    sh: { enableSharding: record('enableSharding'), shardCollection: record('shardCollection') },
    db: { getSiblingDB: collections },
  });
  return JSON.parse(JSON.stringify(calls)) as unknown[][];
}

it('shards each collection of documents by organization and id, after the index that this needs', () => {
  const [first, ...others] = callsOf(shardPlan('support_g2'));
  expect(first).toEqual(['enableSharding', 'support_g2']);
  const key = { orgId: 1, _id: 1 };
  const names = [
    ...['contacts', 'users', 'agents', 'tags', 'topics', 'channels'],
    ...['tickets', 'conversations', 'messages', 'qas'],
  ];
  expect(others).toEqual(
    names.flatMap((name) => [
      ['createIndex', `support_g2.${name}`, key, { name: 'shardKey' }],
      ['shardCollection', `support_g2.${name}`, key],
    ]),
  );
});
