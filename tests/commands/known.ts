import type { Shape } from './shape.ts';

/**
 * The commands, options, stages and operators that both MongoDB and the stand-in take, by the oldest MongoDB that has
 * them; 4.2 is the oldest that the driver speaks to. Before you add one, run it on both.
 */
const known: Record<string, string[]> = {
  '4.2': [
    ...['find', 'aggregate', 'count', 'insert', 'update', 'delete', 'findAndModify', 'createIndexes'],
    ...['listCollections', 'listIndexes', 'dropIndexes', 'dropDatabase', 'drop', 'dbStats'],
    ...['$eq', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$ne', '$exists', '$size', '$and', '$or', '$nor'],
    ...[
      '$set',
      '$unset',
      '$setOnInsert',
      '$inc',
      '$max',
      '$min',
      '$pull',
      '$addToSet',
      '$push',
      '$currentDate',
    ],
    ...[
      '$match',
      '$group',
      '$unwind',
      '$sort',
      '$limit',
      '$project',
      '$sum',
      '$count',
      '$lookup',
      '$concatArrays',
    ],
  ],
  '4.4': ['hello', '$unionWith'],
};

/** The oldest MongoDB that takes a command; null if it uses anything unknown. */
export function oldestFor({ uses }: Shape): string | null {
  const versions = uses.map(
    (name) => Object.entries(known).find(([, names]) => names.includes(name))?.[0] ?? null,
  );
  return versions.includes(null) ? null : (versions.toSorted().at(-1) ?? null);
}
