import { createApiKeys, type SampleKey } from './api-keys.ts';
import { createChannels } from './channels.ts';
import type { Event } from './encode.ts';
import { change, entity, publish, remove, type Entity } from './entity.ts';
import { createQas } from './knowledge.ts';
import { addressOf, personName } from './language.ts';
import type { Random } from './random.ts';
import { mailDomains, organizations, tagNames, topicColors } from './vocabulary.ts';

/** An organization with all entities that its tickets refer to, in memory: a few hundred bytes for each contact. */
export type Organization = {
  id: string;
  domain: string;
  products: readonly string[];
  contacts: Entity<'contact'>[];
  users: Entity<'user'>[];
  agents: Entity<'agent'>[];
  tags: Entity<'tag'>[];
  topics: Entity<'topic'>[];
  channels: { open: Entity<'channel'>[]; all: Entity<'channel'>[] };
};

type CreatedOrganization = { organization: Organization; keys: SampleKey[]; events: Event[] };

const day = 24 * 3_600_000;

/** Creates the organization at `index` in the vocabulary, and its events. */
export function createOrganization(
  random: Random,
  index: number,
  contactCount: number,
  now: Date,
): CreatedOrganization {
  const { domain, products } = organizations[index % organizations.length] ?? organizations[0];
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
  const { open, all, toDelete } = createChannels({ random, orgId: id, domain, agentIds, now });
  const organization = {
    id,
    domain,
    products,
    contacts,
    users,
    agents,
    tags,
    topics,
    channels: { open, all },
  };
  const { keys, events } = createApiKeys(random, id, from, yesterday);
  const entities = [...contacts, ...users, ...agents, ...tags, ...topics];
  events.push(...entities.map((each) => publish(each, from)));
  events.push(...[...all, toDelete].map((channel) => publish(channel, new Date(channel.state.updatedAt))));
  events.push(
    remove(toDelete, yesterday),
    ...createQas(random, id, agentIds, now),
    ...deletionsAndRename(organization, yesterday),
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

/** Deletes a contact, a teammate and a tag, to which tickets will still refer. Renames another contact. */
function deletionsAndRename({ contacts, users, tags }: Organization, time: Date): Event[] {
  const deleted = [contacts[0], users[0], tags.at(-1)].filter((each) => each !== undefined);
  const renamed = contacts[1];
  return [
    ...deleted.map((each) => remove(each, time)),
    ...(renamed ? [change(renamed, { name: 'Robin van Dijk' }, time)] : []),
  ];
}
