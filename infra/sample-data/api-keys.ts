import { createHash } from 'node:crypto';
import { entity, publish, remove, type Entity } from './entity.ts';
import type { SampleEvent } from './encode.ts';
import type { Random } from './random.ts';

/** A key that the desk made, with the token that never crosses the bus. */
export type SampleKey = {
  orgId: string;
  token: string;
  name: string;
  access: 'read' | 'full';
  /** What the API answers to it. */
  state: 'active' | 'archived' | 'deleted';
};

type Wanted = Omit<SampleKey, 'orgId' | 'token'> & { mode: 'live' | 'test' };

const wanted: Wanted[] = [
  { name: 'Reporting', mode: 'live', access: 'read', state: 'active' },
  { name: 'Data warehouse', mode: 'live', access: 'full', state: 'active' },
  { name: 'Continuous integration', mode: 'test', access: 'read', state: 'active' },
  { name: 'Former reporting', mode: 'live', access: 'read', state: 'archived' },
  { name: 'Mistake', mode: 'test', access: 'full', state: 'deleted' },
];

/** The keys of an organization; only the hash of a token is in the events. */
export function createApiKeys(random: Random, orgId: string, from: Date, to: Date) {
  const keys: SampleKey[] = [];
  const events: SampleEvent[] = [];
  for (const { mode, ...rest } of wanted) {
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
