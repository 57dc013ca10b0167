import type { Kind } from '../../shared/documents/document.ts';
import type { KafkaRecord, Change } from '../../services/projector/events/change.ts';
import { parse } from '../../services/projector/events/parse.ts';
import { createReferenceCache } from '../../services/projector/materialize/reference-cache.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import type { UpdateDeps } from '../../services/projector/materialize/fan-out.ts';
import { encode, type Event } from './events.ts';

/** What the engine runs with on a store: a worker of its own that knows of no position applied, at the epoch. */
export const engineDeps = (store: Store, overrides: Partial<UpdateDeps> = {}): UpdateDeps => ({
  store,
  cache: createReferenceCache(),
  now: () => new Date(0),
  tombstoneDays: 30,
  isApplied: () => false,
  onNotRefreshed: () => undefined,
  signal: new AbortController().signal,
  onProgress: () => undefined,
  ...overrides,
});

/** The record that carries an event, at an offset of partition 0. */
export function recordOf(event: Event, offset: number, timestampMs = offset): KafkaRecord {
  const { key, value, headers } = encode(event, 'structured');
  return {
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers,
    position: { partition: 0, offset, timestampMs },
  };
}

/** What an event means to the engine; it stands at the offset of its version unless another is given. */
export function changeOf(event: Event, offset = event.version): Change {
  const result = parse(event.kind, recordOf(event, offset));
  if ('rejected' in result) throw new Error(result.rejected.detail);
  return result.change;
}

/** The deletion of an event's entity, at a version. */
export const deletionOf = ({ data: _data, ...event }: Event, version: number): Event => ({
  ...event,
  version,
  op: 'deleted',
});

/** Positions of each kind up to an offset count as applied. */
export const appliedUpTo =
  (offset: number): UpdateDeps['isApplied'] =>
  (_kind: Kind, position) =>
    position.offset < offset;
