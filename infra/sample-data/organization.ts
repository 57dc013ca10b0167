import { createApiKeys, type SampleKey } from './api-keys.ts';
import { createChannels } from './channels.ts';
import type { SampleEvent } from './encode.ts';
import { change, entity, publish, remove, type Entity } from './entity.ts';
import { createQas } from './knowledge.ts';
import { addressOf, personName } from './language.ts';
import type { Random } from './random.ts';
import { mailDomains, organizations, tagNames, topicColors } from './vocabulary.ts';

/** An organization with what its tickets refer to, all of it in memory: a few hundred bytes a contact. */
export type Organization = {
  id: string;
  domain: string;
  sells: readonly string[];
  contacts: Entity<'contact'>[];
  users: Entity<'user'>[];
  agents: Entity<'agent'>[];
  tags: Entity<'tag'>[];
  topics: Entity<'topic'>[];
  channels: { open: Entity<'channel'>[]; all: Entity<'channel'>[] };
};

export type Founded = { organization: Organization; keys: SampleKey[]; events: SampleEvent[] };

const day = 24 * 3_600_000;

/** Founds the organization of that place in the vocabulary, with so many contacts. */
export function foundOrganization(random: Random, index: number, contactCount: number, now: Date): Founded {
  const { domain, sells } = organizations[index % organizations.length] ?? organizations[0];
  const id = random.id('org_');
  const from = new Date(now.getTime() - 420 * day);
  const yesterday = new Date(now.getTime() - day);
  const contacts = Array.from({ length: contactCount }, (_, number) => contact(random, id, number));
  const users = Array.from({ length: 6 }, (_, number) => teammate(random, id, number, domain));
  const agents = ['Robin', 'Sage', 'Old assistant'].map((name, number) =>
    entity('agent', id, { id: random.id('agent_'), name, disabled: number === 2 }),
  );
  const tags = tagNames.map((name) => entity('tag', id, { id: random.id('tag_'), name }));
  const topics = topicColors.map(([name, color]) =>
    entity('topic', id, { id: random.id('topic_'), name, color }),
  );
  const agentIds = agents.map(({ state }) => state.id);
  const { open, all, doomed } = createChannels({ random, orgId: id, domain, agentIds, now });
  const organization = { id, domain, sells, contacts, users, agents, tags, topics, channels: { open, all } };
  const { keys, events } = createApiKeys(random, id, from, yesterday);
  const people = [...contacts, ...users, ...agents, ...tags, ...topics];
  events.push(...people.map((one) => publish(one, from)));
  events.push(...[...all, doomed].map((one) => publish(one, new Date(one.state.updatedAt))));
  events.push(
    remove(doomed, yesterday),
    ...createQas(random, id, agentIds, now),
    ...departures(organization, yesterday),
  );
  return { organization, keys, events };
}

function contact(random: Random, orgId: string, number: number): Entity<'contact'> {
  const name = personName(random);
  const known = random.chance(0.85);
  return entity('contact', orgId, {
    id: random.id('con_'),
    name: random.chance(0.9) ? `${name.first} ${name.last}` : null,
    email: known
      ? { email: addressOf(name, number, random.pick(mailDomains)), verified: random.chance(0.6) }
      : null,
  });
}

function teammate(random: Random, orgId: string, number: number, domain: string): Entity<'user'> {
  const name = personName(random);
  const email = addressOf(name, number, domain);
  return entity('user', orgId, {
    id: random.id('user_'),
    name: number === 5 ? null : `${name.first} ${name.last}`,
    email,
  });
}

/** What tickets will refer to although it has gone: a contact, a teammate, a tag; and one that was renamed. */
function departures({ contacts, users, tags }: Organization, time: Date): SampleEvent[] {
  const gone = [contacts[0], users[0], tags.at(-1)].filter((one) => one !== undefined);
  const renamed = contacts[1];
  return [
    ...gone.map((one) => remove(one, time)),
    ...(renamed ? [change(renamed, { name: 'Robin van Dijk' }, time)] : []),
  ];
}
