import {
  applyChanges as applyPhaseOne,
  type ChunkEffect,
  finishFanOuts,
  parseChunk,
} from '../../services/projector/apply/phases.ts';
import type { Change } from '../../services/projector/events/change.ts';
import { parse } from '../../services/projector/events/parse.ts';
import {
  applyTogether,
  finishLargeFanOuts,
  type UpdateDeps,
} from '../../services/projector/materialize/fan-out.ts';
import type { RejectedChange } from '../../services/projector/materialize/plan.ts';
import type { Store, StoredDocument } from '../../services/projector/materialize/store.ts';
import type { SkippedOffsets } from '../../shared/control/ledger-store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';
import { encode, type Event, type Produced } from './events.ts';
import { rawHeaders } from './example-records.ts';

/** Dependencies of the engine for one worker: it starts at the epoch, and no position counts as applied. */
export const engineDeps = (store: Store, overrides: Partial<UpdateDeps> = {}): UpdateDeps => ({
  store,
  now: () => new Date(0),
  tombstoneDays: 30,
  isApplied: () => false,
  onNotRefreshed: () => undefined,
  signal: new AbortController().signal,
  onProgress: () => undefined,
  wait: async () => undefined,
  ...overrides,
});

/** A stored document of `org_1` with this state and no references, with changes. */
export const storedDocument = (
  state: { id: string } & Record<string, unknown>,
  changes: Partial<StoredDocument> = {},
): StoredDocument => ({
  _id: state.id,
  orgId: 'org_1',
  version: 1,
  revision: 1,
  position: { partition: 0, offset: 1, timestampMs: 1 },
  state,
  joined: {},
  refs: [],
  ...changes,
});

/** A record as the projector reads it. */
export const consumed = (
  { key, value, headers }: Produced,
  position: KafkaRecord['position'],
): KafkaRecord => ({
  key: Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: rawHeaders(headers),
  position,
});

/** The record of an event at a position. */
export const recordAt = (event: Event, position: KafkaRecord['position']): KafkaRecord =>
  consumed(encode(event, 'structured'), position);

/** The record of an event at an offset of partition 0. */
export const recordOf = (event: Event, offset: number, timestampMs = offset): KafkaRecord =>
  recordAt(event, { partition: 0, offset, timestampMs });

/** The change that the parser reads from an event at a position. */
export function changeAt(event: Event, position: Change['position']): Change {
  const result = parse(event.kind, recordAt(event, position));
  if ('rejected' in result) throw new Error(`the record is rejected: ${result.rejected.detail}`);
  return result.change;
}

/** The change of an event at an offset of partition 0; by default the offset is the event's version. */
export const changeOf = (event: Event, offset = event.version): Change =>
  changeAt(event, { partition: 0, offset, timestampMs: offset });

/** The deletion of an event's entity, at a version. */
export const deletionOf = ({ data: _data, ...event }: Event, version: number): Event => ({
  ...event,
  version,
  op: 'deleted',
});

/** Positions of each kind before an offset count as applied. */
export const appliedUpTo =
  (offset: number): UpdateDeps['isApplied'] =>
  (_kind: Kind, position) =>
    position.offset < offset;

/** Applies one chunk, and refreshes every document that depends on it. */
export async function applyChanges(
  deps: UpdateDeps,
  kind: Kind,
  changes: Change[],
): Promise<RejectedChange[]> {
  const chunk = { kind, changes };
  const outcome = await applyTogether(deps, [chunk]);
  await finishLargeFanOuts(deps, chunk, outcome);
  return outcome.rejections;
}

/** Applies the records of one chunk, with both phases. Returns the applied changes and the rejected records. */
export async function applyRecords(
  deps: UpdateDeps,
  kind: Kind,
  records: KafkaRecord[],
  skipped: SkippedOffsets = new Map(),
): Promise<ChunkEffect> {
  const chunk = parseChunk(kind, { topic: kind, records, skipped }, deps);
  return finishFanOuts(deps, chunk, await applyPhaseOne(deps, [chunk]));
}
