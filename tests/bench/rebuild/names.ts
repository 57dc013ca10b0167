/** The records of the full dataset, which are rebuilt from by default. */
export const rebuildRecords = 46_000;
/** Each kind needs an entity of each organization. */
export const recordsMin = 1_000;

/** What is measured in each round, in the order of the table. */
export const rebuildNames = [
  'bulk-write',
  'bulk-write-beside',
  'projector',
  'rebuild',
  'one-by-one',
] as const;

export type RebuildName = (typeof rebuildNames)[number];
