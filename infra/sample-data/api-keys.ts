import { createHash } from 'node:crypto';
import { entity, publish, remove, type Entity } from './entity.ts';
import type { Event } from './encode.ts';
import type { Random } from './random.ts';

/** A generated key with its token. The events carry only the token's hash. */
export type SampleKey = {
  orgId: string;
  token: string;
  name: string;
  access: 'read' | 'full';
  /** Whether the API accepts the key: only an active one. */
  state: 'active' | 'archived' | 'deleted';
};

type KeySpec = Omit<SampleKey, 'orgId' | 'token'> & { mode: 'live' | 'test' };

const keySpecs: KeySpec[] = [
  { name: 'Reporting', mode: 'live', access: 'read', state: 'active' },
  { name: 'Data warehouse', mode: 'live', access: 'full', state: 'active' },
  { name: 'Continuous integration', mode: 'test', access: 'read', state: 'active' },
  { name: 'Former reporting', mode: 'live', access: 'read', state: 'archived' },
  { name: 'Mistake', mode: 'test', access: 'full', state: 'deleted' },
];

/** Creates the keys of an organization and their events. */
export function createApiKeys(random: Random, orgId: string, from: Date, to: Date) {
  const keys: SampleKey[] = [];
  const events: Event[] = [];
  for (const { mode, ...rest } of keySpecs) {
    const token = random.id(`svc_${mode}_`) + random.id('');
    const key: Entity<'apiKey'> = entity('apiKey', orgId, {
      id: random.id('key_'),
      name: rest.name,
      mode,
      tokenSha256: createHash('sha256').update(token).digest('hex'),
      access: rest.access,
      createdAt: from.toISOString(),
    });
    keys.push({ orgId, token, ...rest });
    events.push(publish(key, from));
    if (rest.state === 'archived') {
      key.state.archivedAt = to.toISOString();
      events.push(publish(key, to));
    }
    if (rest.state === 'deleted') events.push(remove(key, to));
  }
  return { keys, events };
}
