import { channelTypes, statesOf } from '../served-fields/states.ts';
import { created } from './entities.ts';

/** The value with the source system's secrets in every object. No service may store, log or show them. */
const withSecrets = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) result[name] = withSecrets(field);
  const secrets = { identitySecret: 'SECRET-1', credentials: 'SECRET-2', syncState: { token: 'SECRET-3' } };
  return { ...result, ...secrets };
};

/**
 * A state of each channel type and of each form of its configuration, with every optional field and secrets everywhere.
 */
export const channelsWithSecrets = [0, 1, 2].flatMap((variant) =>
  channelTypes.map((type) => {
    const state = withSecrets(statesOf(variant).states[type].state) as Record<string, unknown>;
    return created('channel', `chan_secret_${type}_${variant}`, state);
  }),
);
