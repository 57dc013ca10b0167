import { openThread, openTicket } from './conversation.ts';
import type { SourceState, SampleEvent, SampleRecord } from './encode.ts';
import { change, publish, type Entity } from './entity.ts';
import { recordsOf, type SampleState } from './sample-data.ts';
import { personName, pickMatter } from './language.ts';
import { writeMessage, type Role, type Thread } from './message.ts';
import type { Organization } from './organization.ts';
import type { Random } from './random.ts';

/** Threads that go on; an older one makes room for a new one. */
const threadsMax = 300;

type Happening = (state: SampleState, at: Date) => SampleEvent[];

/**
 * What goes on at a desk, without end: each step is one thing that happens, with every event it leads to.
 * `now` is the clock of the events; the same seed and clock give the same steps.
 */
export function* liveChanges(
  state: SampleState,
  now: () => Date = () => new Date(),
): Generator<SampleRecord[], never> {
  for (;;) {
    const events = state.random.pick(happenings)(state, now());
    yield events.flatMap((event) => recordsOf(state.random, event));
  }
}

function newTicket(state: SampleState, at: Date): SampleEvent[] {
  const { random, organizations, threads } = state;
  const organization = random.pick(organizations);
  const matter = pickMatter(random, organization.sells);
  const ticket = openTicket(random, organization, matter, at);
  const thread = openThread(random, organization, ticket, matter, 'primary');
  const message = writeMessage(random, thread, { role: 'user', first: true, at });
  if (threads.length >= threadsMax) threads.splice(random.int(0, threads.length - 1), 1);
  threads.push(thread);
  // A message may well come before its conversation, and a conversation before its ticket.
  return [publish(message, at), publish(thread.conversation, at), publish(ticket, at)];
}

function reply({ random, threads }: SampleState, at: Date): SampleEvent[] {
  const thread = random.pick(threads);
  const role: Role = random.pick(['user', 'user', 'human', 'assistant']);
  const message = writeMessage(random, thread, { role, first: false, at });
  const status = role === 'user' ? 'needs_follow_up' : 'waiting_for_user';
  const waitingSince = role === 'user' ? at.toISOString() : null;
  const conversation: Partial<SourceState<'conversation'>> = { status, waitingSince, resolvedAt: null };
  if (role === 'human')
    conversation.firstHumanReplyAt = thread.conversation.state.firstHumanReplyAt ?? at.toISOString();
  return [
    publish(message, at),
    ...moveOn(thread, { status: 'open', estimatedScore: null }, conversation, at),
  ];
}

function resolve({ random, threads }: SampleState, at: Date): SampleEvent[] {
  const status = random.pick(['resolved', 'assumed_resolved'] as const);
  const rated = { status, estimatedScore: random.int(1, 5) };
  return moveOn(
    random.pick(threads),
    rated,
    { status, waitingSince: null, resolvedAt: at.toISOString() },
    at,
  );
}

function archive({ random, threads }: SampleState, at: Date): SampleEvent[] {
  return moveOn(random.pick(threads), { status: 'closed' }, { status: 'archived', waitingSince: null }, at);
}

function moveOn(
  { ticket, conversation }: Thread,
  ticketPatch: Partial<SourceState<'ticket'>>,
  conversationPatch: Partial<SourceState<'conversation'>>,
  at: Date,
): SampleEvent[] {
  const updatedAt = at.toISOString();
  return [
    change(conversation, { ...conversationPatch, updatedAt }, at),
    change(ticket, { ...ticketPatch, updatedAt }, at),
  ];
}

function renameContact({ random, organizations }: SampleState, at: Date): SampleEvent[] {
  const { first, last } = personName(random);
  return [change(livingContact(random, random.pick(organizations)), { name: `${first} ${last}` }, at)];
}

/** The first contact was deleted; versions go on, but the desk leaves it at that. */
const livingContact = (random: Random, { contacts }: Organization): Entity<'contact'> =>
  random.pick(contacts.slice(1));

function recolorTopic({ random, organizations }: SampleState, at: Date): SampleEvent[] {
  const color = random.pick(['#2f6fde', '#12a150', '#d9480f', '#7048e8', null]);
  return [change(random.pick(random.pick(organizations).topics), { color }, at)];
}

function assign({ random, threads }: SampleState, at: Date): SampleEvent[] {
  const { conversation, organization } = random.pick(threads);
  const patch = { assignedUserId: random.pick(organization.users).state.id, supportLevel: 'human' } as const;
  return [change(conversation, { ...patch, updatedAt: at.toISOString() }, at)];
}

function pauseOrResume({ random, organizations }: SampleState, at: Date): SampleEvent[] {
  const channel = random.pick(random.pick(organizations).channels.open);
  const { pausedAt, resumedAt } = channel.state;
  const paused = Boolean(pausedAt) && (!resumedAt || resumedAt < (pausedAt ?? ''));
  const instant = at.toISOString();
  return [
    change(channel, { ...(paused ? { resumedAt: instant } : { pausedAt: instant }), updatedAt: instant }, at),
  ];
}

/** Mailboxes that work are read all the time: without it they would count as stalled after six hours. */
function syncMailboxes({ organizations }: SampleState, at: Date): SampleEvent[] {
  return organizations.flatMap(({ channels }) =>
    channels.open.flatMap((channel) => {
      const { state } = channel;
      if (state.type !== 'email' || !state.email.connection) return [];
      const connection = { ...state.email.connection, lastSyncedAt: at.toISOString() };
      return [change(channel, { email: { ...state.email, connection } }, at)];
    }),
  );
}

/** What can happen, as often as it stands here. */
const happenings: Happening[] = [
  ...Array<Happening>(8).fill(newTicket),
  ...Array<Happening>(24).fill(reply),
  ...Array<Happening>(5).fill(resolve),
  ...Array<Happening>(4).fill(assign),
  archive,
  renameContact,
  renameContact,
  recolorTopic,
  pauseOrResume,
  syncMailboxes,
];
