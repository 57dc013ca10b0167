/** Matches dead letters by their fields. An absent field matches all; `since` is inclusive, `until` is exclusive. */
export type DeadLetterFilter = {
  topic?: string | undefined;
  reason?: string | undefined;
  key?: string | undefined;
  org?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

/** Dead letters by id, or at most `limit` by filter; an empty filter matches all. */
export type Selection = { ids: string[] } | { filter: DeadLetterFilter; limit: number };

export const isFiltered = (filter: DeadLetterFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined);
