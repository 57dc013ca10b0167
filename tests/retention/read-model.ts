import type { Db } from 'mongodb';
import { readThread } from '../../services/api/resources/conversations/thread.ts';
import { findById, findConversation } from '../../services/api/resources/find-by-id.ts';
import { threadOf } from '../../services/api/resources/messages.ts';
import { visibleConversations } from '../../services/api/resources/tickets/conversations.ts';
import { mongoSweepStore } from '../../services/projector/retention/mongo-sweep-store.ts';
import { sweep, type SweepDeps } from '../../services/projector/retention/sweep.ts';
import { watermarksOf } from '../../shared/control/progress.ts';
import type { ConversationDocument } from '../../shared/documents/conversation.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import type { TicketDocument } from '../../shared/documents/ticket.ts';
import { snapshotOf, testReaders } from '../api/test-api.ts';
import { openEngineStore } from '../store/engine-store.ts';
import { applyChanges, changeOf, engineDeps } from '../support/engine.ts';
import { created } from '../support/entities.ts';
import type { Event } from '../support/events.ts';
import { useOpened } from '../support/use-opened.ts';

const start = new Date('2126-01-01T00:00:00Z');
/** The instant of a day. All days are in the future, so the store's TTL deletes nothing while a test runs. */
export const day = (number: number, offsetMs = 0) => new Date(start.getTime() + number * dayMs + offsetMs);

/** Events of a channel with a retention of 30 days by default. Every id ends in `name`. */
export const eventsOf = (name: string) => ({
  channel: (days: number | null = 30, version = 1) =>
    created('channel', `chan_${name}`, { dataRetentionDays: days }, version),
  ticket: created('ticket', `ti_${name}`),
  /** A conversation that was last updated on a day. Its title contains the name. */
  conversation: (updated: number, version = 1) =>
    created(
      'conversation',
      `conv_${name}`,
      {
        ticketId: `ti_${name}`,
        channelId: `chan_${name}`,
        title: `title of ${name}`,
        updatedAt: day(updated).toISOString(),
      },
      version,
    ),
  message: (onDay: number, version = 1) =>
    created(
      'message',
      `msg_${name}_${String(onDay).padStart(3, '0')}`,
      { conversationId: `conv_${name}`, content: `content of ${name}`, createdAt: day(onDay).toISOString() },
      version,
    ),
});

/** Reads a name's data from the API as a reader does at an instant. */
async function answersAt(database: Db, name: string, now: Date) {
  const store = testReaders()({ orgId: 'org_1', keyId: 'key_1' }, snapshotOf(database));
  const conversation = await findConversation<ConversationDocument>(store, `conv_${name}`, now);
  const thread =
    conversation &&
    threadOf({ orgId: 'org_1', conversationId: conversation.state.id }, conversation.joined.channel, now);
  const messages = thread ? await Array.fromAsync(readThread(store, thread)) : [];
  const ticket = await findById<TicketDocument>(store, 'ticket', `ti_${name}`);
  const embedded = ticket
    ? await Array.fromAsync(visibleConversations(store, ticket, { orgId: 'org_1', now }))
    : [];
  return {
    conversation: conversation?.state ?? null,
    messages: messages.flat().map(({ state }) => state),
    embedded: embedded.flat().map(({ id }) => id),
  };
}

/** The signal that aborts a sweep, and the current time, which is `asOf` by default. */
type SweepOptions = { signal?: AbortSignal; now?: Date; isComplete?: boolean };

async function openReadModel() {
  const { store, database, control, close } = await openEngineStore();
  /** Applies events one by one on a day. No position counts as applied, as after a restart. */
  const apply = async (events: Event[], on = day(0)) => {
    const deps = engineDeps(store, { now: () => on });
    for (const event of events) await applyChanges(deps, event.kind, [changeOf(event)]);
  };
  /** Applies events of one kind in one batch. */
  const applyBatch = async (events: Event[], on = day(0)) => {
    const deps = engineDeps(store, { now: () => on, isApplied: () => true });
    const changes = events.map((event) => changeOf(event));
    await applyChanges(deps, events[0]?.kind ?? 'message', changes);
  };
  const sweepDeps = (
    asOf: Date,
    { signal, now = asOf, isComplete = true }: SweepOptions = {},
  ): SweepDeps => ({
    ...engineDeps(store, { now: () => now, ...(signal && { signal }) }),
    sweepStore: mongoSweepStore({ database, control, prefix: 'support.', generation: 1, now: () => now }),
    asOf,
    isComplete,
  });
  return {
    store,
    database,
    control,
    close,
    apply,
    applyBatch,
    sweepDeps,
    setWatermark: (completeTo = new Date()) =>
      watermarksOf(control).updateOne({ _id: 1 }, { $set: { completeTo } }, { upsert: true }),
    sweepAsOf: (asOf: Date, options?: SweepOptions) => sweep(sweepDeps(asOf, options)),
    answersAt: (name: string, now: Date) => answersAt(database, name, now),
    allDocuments: async () => {
      const collections = await database.collections();
      return JSON.stringify(await Promise.all(collections.map((collection) => collection.find().toArray())));
    },
  };
}

export const useReadModel = () => useOpened(openReadModel, { each: true });
