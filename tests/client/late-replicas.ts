import type { Document } from 'mongodb';
import { newTicket, reply } from '../../infra/sample-data/live-changes.ts';
import { generateSampleData } from '../../infra/sample-data/sample-data.ts';
import { resources } from '../../shared/documents/resources.ts';
import * as build from '../api/builders.ts';
import type { TestStore } from '../api/test-api.ts';
import type { Event } from '../support/events.ts';
import type { Random } from '../support/random.ts';
import { joinedConversations } from './test-client.ts';

type PendingChange = { madeAtStep: number; applyAtStep: number; event: Event };
type Replica = { store: TestStore; lagMax: number; pending: PendingChange[] };

const startMs = Date.parse('2026-01-01T00:00:00Z');
/** The first store applies a change after at most 8 steps, the second after at most 16, and so on. */
const lagMax = 8;

/**
 * Simulates a source system that makes one change a step, and a projector for each store. Each projector applies
 * changes late and out of order, like partitions with different lags. Only the watermark shows how far the data is
 * complete.
 */
export function createLateReplicas(stores: TestStore[], random: Random) {
  const size = { tickets: 0, contacts: 10, longestConversation: 0 };
  const { state } = generateSampleData({ seed: random.int(1_000), size, now: new Date(startMs) });
  const replicas = stores.map((store, index): Replica => ({
    store,
    lagMax: lagMax * (1 + index),
    pending: [],
  }));
  let step = 0;

  const change = () => {
    // Half of the changes open a ticket, and most of them never change again. A later change would hide an omission.
    const make = state.conversations.length === 0 || random.chance(0.5) ? newTicket : reply;
    for (const event of make(state, new Date(startMs + step))) {
      for (const { pending, lagMax: stepsMax } of replicas) {
        // All changes of an entity are on one partition, so a projector applies them in order.
        const earlierSteps = pending
          .filter((other) => other.event.id === event.id)
          .map(({ applyAtStep }) => applyAtStep);
        const applyAtStep = Math.max(step + random.int(stepsMax), ...earlierSteps);
        pending.push({ madeAtStep: step, applyAtStep, event });
      }
    }
  };

  const apply = async (replica: Replica) => {
    const { store } = replica;
    const due = replica.pending.filter(({ applyAtStep }) => applyAtStep <= step);
    replica.pending = replica.pending.filter(({ applyAtStep }) => applyAtStep > step);
    for (const { event } of due) {
      const replacement = documentOf(event);
      await store.database
        .collection<Document & { _id: string }>(resources[event.kind].collection)
        .replaceOne({ _id: event.id }, replacement, { upsert: true });
    }
    const completeToStep = Math.min(step, ...replica.pending.map(({ madeAtStep }) => madeAtStep - 1));
    await build.dataAsOf(store.control, new Date(startMs + completeToStep));
  };

  const documentOf = ({ kind, id, data }: Event) => {
    const fields = { ...data, id };
    if (kind === 'message') return build.message(fields);
    if (kind === 'conversation') return build.conversation(fields);
    const contexts = state.conversations.filter(({ ticket }) => ticket.state.id === id);
    const joined = joinedConversations(contexts.map(({ conversation }) => conversation.state.id));
    return build.ticket(fields, { joined });
  };

  return {
    /** Takes some steps with one change each, then applies the changes that are due. */
    advance: async (steps: number) => {
      for (let taken = 0; taken < steps; taken += 1) {
        step += 1;
        change();
      }
      await Promise.all(replicas.map(apply));
    },
    /** Applies every change. */
    applyAll: async () => {
      step += lagMax * stores.length;
      await Promise.all(replicas.map(apply));
    },
  };
}
