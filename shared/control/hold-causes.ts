/** Every cause that can hold the watermark, explained to an operator. */
export const holdCauses = {
  backlog: 'records wait to be applied',
  undelivered: 'the broker has not delivered the next records: a quota may throttle this client',
  new_leader:
    'the next records wait until the projector has compared the log of a new leader with the applied log',
  prerequisites: 'a backlog waits for the topics that its documents refer to',
  fan_out: 'the dependents of a changed entity are refreshed',
  one_at_a_time: 'a build loads one chunk at a time, and the current chunk is from a different partition',
  open_transaction: 'a transaction of a producer is open, and hides the records behind it',
  conflicting:
    'documents are written again and again, because other writes or changes of their references come first',
  failing: 'a chunk fails and is retried',
  starting: 'the projector has not found the start offset of a partition yet',
  unreadable: 'a log cannot be read: no leader, or a broker that does not answer or reports an error',
  unassigned: 'no projector applies a partition',
  unsaved: 'progress cannot be saved: MongoDB does not answer',
} as const;

export type HoldCause = keyof typeof holdCauses;
