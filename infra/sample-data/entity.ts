import { type Kind, resources } from '../../shared/documents/resources.ts';
import type { Event, SourceState } from './encode.ts';

/** The prefix of the ids of a kind. The prefix of channels is a convention that the events do not enforce. */
export const idPrefixOf = (kind: Kind): string =>
  kind === 'channel' ? 'chan_' : resources[kind].idPrefix || `${kind}_`;

/** An entity with its current state and version. `version` 0 means that it has not been published. */
export type Entity<K extends Kind = Kind> = {
  kind: K;
  orgId: string;
  version: number;
  state: SourceState<K>;
};

/** Returns an event with the entity's current state, at its next version. */
export function publish<K extends Kind>(target: Entity<K>, time: Date): Event {
  const { kind, orgId, state } = target;
  const op = target.version === 0 ? 'created' : 'updated';
  target.version += 1;
  return { kind, id: state.id, orgId, version: target.version, op, time, data: structuredClone(state) };
}

/** Changes the entity and returns the event. */
export function change<K extends Kind>(target: Entity<K>, patch: Partial<SourceState<K>>, time: Date): Event {
  Object.assign(target.state, patch);
  return publish(target, time);
}

/** Returns an event that deletes the entity. */
export function remove<K extends Kind>(target: Entity<K>, time: Date): Event {
  const { kind, orgId, state } = target;
  target.version += 1;
  return { kind, id: state.id, orgId, version: target.version, op: 'deleted', time };
}
