/** The contenders in the order of the table. */
export const contenderNames = ['bulk-write', 'connector', 'projector', 'live'] as const;

export type ContenderName = (typeof contenderNames)[number];
