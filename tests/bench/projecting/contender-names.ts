/**
 * The contenders in the order of the table. `discard` to `update-one` consume the same records as `projector-3`; the
 * number after `projector` is the number of organizations.
 */
export const contenderNames = [
  'discard',
  'bulk-write',
  'connector',
  'update-one',
  'projector-1',
  'projector-3',
  'projector-50',
  'projector-250',
  'live',
] as const;

export type ContenderName = (typeof contenderNames)[number];
