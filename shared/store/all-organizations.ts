/**
 * The reasons for which a command may read the documents of all organizations. Such a command carries its reason as
 * `comment`, which MongoDB's log and profiler show. Every other command on a generation's documents names the
 * organizations that it is for.
 */
export const allOrganizations = {
  /** An event may name the wrong organization; a Kafka tombstone and an operator name none. */
  owner: 'all organizations: the owner of an id',
  /** Only the key's document tells the caller's organization. */
  authentication: 'all organizations: authentication',
  retention: 'all organizations: retention',
  comparison: 'all organizations: comparison of generations',
  status: 'all organizations: status',
  keys: 'all organizations: list of keys',
} as const;
