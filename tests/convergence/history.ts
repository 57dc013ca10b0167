import { kinds, type Kind } from '../../shared/documents/document.ts';
import { idPrefixes, type Event } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';
import { formBlock, states } from '../support/entities.ts';

/**
 * A random history of a few entities that refer to each other: children first, renames after embedding,
 * deletions (also at the version of the last update), re-creations, tombstones, moves to another parent, references across organizations, duplicates,
 * stale versions, and records under the wrong organization. Same seed, same history.
 */
export function randomHistory(seed: number, length: number, shape: Partial<Shape> = {}): Event[] {
  const { population = wide, organizations = 2, retentionDays = [0, 10_000] } = shape;
  const random = createRandom(seed);
  const history: Event[] = [];
  const versions = new Map<string, number>();
  for (let step = 0; step < length; step += 1) {
    // The last third mostly changes referenced entities: only the fan-out propagates these changes.
    const kind = random.pick(step < (length * 2) / 3 || random.chance(0.3) ? weighted : referenced);
    const number = random.int(population[kind]);
    const id = idOf(seed, kind, number);
    // An entity belongs to one organization; a few records name another.
    const orgId = `org_${seed}_${(number + (random.chance(0.02) ? 1 : 0)) % organizations}`;
    const time = new Date(base + step * 1_000 + random.int(5_000));
    const known = versions.get(id) ?? 0;
    const repeat = history.filter((event) => event.id === id);
    if (repeat.length > 0 && random.chance(0.15)) {
      history.push(random.pick(repeat));
      continue;
    }
    const version = known + 1 + random.int(3);
    versions.set(id, version);
    const fate = random.int(100);
    const event = { kind, id, orgId, version, time };
    if (known > 0 && fate < 8)
      history.push({ ...event, op: 'deleted', version: random.chance(0.4) ? known : version });
    else if (known > 0 && fate < 12) history.push({ ...event, op: 'tombstone' });
    else {
      const op = known === 0 ? 'created' : 'updated';
      const some = (of: Kind) => idOf(seed, of, random.int(population[of] + 1));
      history.push({ ...event, op, data: stateOf({ random, some, retentionDays }, kind, id, time) });
    }
  }
  return history;
}

export type Population = Record<Kind, number>;

type Shape = {
  population: Population;
  organizations: number;
  /** The possible retention periods of a channel. 10,000 days do not pass while a test runs. */
  retentionDays: number[];
};

const base = Date.UTC(2026, 0, 1);

/** Few ids of each kind, so that histories collide. */
export const wide: Population = {
  apiKey: 2,
  contact: 5,
  user: 3,
  agent: 3,
  tag: 4,
  topic: 4,
  channel: 4,
  ticket: 5,
  conversation: 8,
  message: 24,
  qa: 3,
};

export const doubled = Object.fromEntries(
  Object.entries(wide).map(([kind, count]) => [kind, 2 * count]),
) as Population;

/** So few entities that most records concern each other. */
export const narrow: Population = {
  apiKey: 1,
  contact: 2,
  user: 1,
  agent: 1,
  tag: 1,
  topic: 1,
  channel: 2,
  ticket: 2,
  conversation: 3,
  message: 4,
  qa: 1,
};

const weights: Partial<Record<Kind, number>> = {
  contact: 3,
  channel: 3,
  ticket: 4,
  conversation: 6,
  message: 12,
};
const weighted = kinds.flatMap((kind) => Array.from({ length: weights[kind] ?? 1 }, () => kind));

const referenced: Kind[] = ['contact', 'user', 'agent', 'tag', 'topic', 'channel'];

const idOf = (seed: number, kind: Kind, number: number) => `${idPrefixes[kind]}${seed}_${number}`;

type Choices = { random: Random; some: (of: Kind) => string; retentionDays: number[] };

function stateOf(choices: Choices, kind: Kind, id: string, time: Date): Record<string, unknown> {
  const { random, some } = choices;
  const several = (of: Kind) => Array.from({ length: random.int(4) }, () => some(of));
  const maybe = <T>(value: T): T | null => (random.chance(0.7) ? value : null);
  // Few names, so that a former name returns; the name in between must not.
  const name = `${kind} ${random.int(3)}`;
  const createdAt = new Date(base + random.int(50) * 1_000).toISOString();
  const common = { ...states[kind], id, createdAt, updatedAt: time.toISOString() };
  switch (kind) {
    case 'apiKey':
      return {
        ...common,
        name,
        tokenSha256: random.int(1_000_000).toString(16).padStart(64, 'A'),
        archivedAt: maybe(time.toISOString()),
      };
    case 'contact':
      return {
        id,
        name: maybe(name),
        email: maybe({ email: `${name}@example.com`, verified: random.chance(0.5) }),
      };
    case 'user':
      return { ...common, name: maybe(name) };
    case 'agent':
      return { id, name, disabled: random.chance(0.5) };
    case 'tag':
      return { id, name };
    case 'topic':
      return { id, name, color: maybe('#aa00ff') };
    case 'channel':
      return { ...common, ...channelState(choices, maybe), name };
    case 'ticket':
      return {
        ...common,
        title: name,
        status: random.pick(['open', 'snoozed', 'resolved', 'closed']),
        requesterId: some('contact'),
        tagIds: several('tag'),
        topicIds: several('topic'),
        estimatedScore: maybe(1 + random.int(5)),
      };
    case 'conversation':
      return {
        ...common,
        ticketId: some('ticket'),
        role: random.pick(['primary', 'side']),
        title: name,
        status: random.pick(['resolved', 'archived', 'needs_follow_up']),
        supportLevel: random.pick(['ai', 'human']),
        channelId: some('channel'),
        contactId: some('contact'),
        assignedUserId: maybe(some('user')),
        topicIds: several('topic'),
        tagIds: several('tag'),
        urgencyScore: maybe(1 + random.int(3)),
        waitingSince: maybe(createdAt),
      };
    case 'message': {
      const author = random.pick([
        { role: 'user', author: { type: 'contact', id: some('contact') } },
        { role: 'human', author: { type: 'user', id: some('user') } },
        { role: 'assistant', author: { type: 'ai_agent', id: some('agent') } },
        { role: 'system' },
      ]);
      const content = maybe(`${name} 👩‍👩‍👧 `.repeat(random.int(30)));
      return { ...common, author: null, ...author, conversationId: some('conversation'), content };
    }
    case 'qa':
      return {
        ...common,
        question: name,
        questionVariations: ['b', 'a', 'é', '😀'],
        answer: name,
        agentId: maybe(some('agent')),
      };
  }
}

function channelState({ random, some, retentionDays }: Choices, maybe: <T>(value: T) => T | null) {
  return {
    type: 'form',
    agentId: maybe(some('agent')),
    dataRetentionDays: maybe(random.pick(retentionDays)),
    archivedAt: random.chance(0.2) ? '2026-02-01T00:00:00+01:00' : null,
    email: null,
    form: { ...formBlock, routesToChannelId: maybe(some('channel')) },
  };
}
