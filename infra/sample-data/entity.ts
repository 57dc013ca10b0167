import type { Kind } from '../../shared/documents/document.ts';
import type { SourceState, SampleEvent } from './encode.ts';

/** An entity of the desk with its current state and version; `version` 0 has not been published. */
export type Entity<K extends Kind = Kind> = {
  kind: K;
  orgId: string;
  version: number;
  state: SourceState<K>;
};

export const entity = <K extends Kind>(kind: K, orgId: string, state: SourceState<K>): Entity<K> => ({
  kind,
  orgId,
  version: 0,
  state,
});

/** Publishes the entity as it is, at its next version. */
export function publish<K extends Kind>(given: Entity<K>, time: Date): SampleEvent {
  const { kind, orgId, state } = given;
  const verb = given.version === 0 ? 'created' : 'updated';
  given.version += 1;
  return { kind, id: state.id, orgId, version: given.version, verb, time, state: structuredClone(state) };
}

/** Changes the entity and publishes it. */
export function change<K extends Kind>(
  given: Entity<K>,
  patch: Partial<SourceState<K>>,
  time: Date,
): SampleEvent {
  Object.assign(given.state, patch);
  return publish(given, time);
}

/** Deletes the entity. */
export function remove<K extends Kind>(given: Entity<K>, time: Date): SampleEvent {
  const { kind, orgId, state } = given;
  given.version += 1;
  return { kind, id: state.id, orgId, version: given.version, verb: 'deleted', time, state: null };
}
