import type { Document } from 'mongodb';
import type { Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import * as build from '../api/builders.ts';
import type { TestStore } from '../api/test-api.ts';
import type { Random } from '../support/random.ts';

type Stored = Document & { _id: string };
type Written = { at: number; applyAt: number; kind: Kind; document: Stored };
type Replica = { store: TestStore; lagMax: number; pending: Written[] };

const startMs = Date.parse('2026-01-01T00:00:00Z');
/** The first store applies a change at most this many steps later; each further store may take longer. */
const lagMax = 8;

/**
 * A source system that makes one change a step, and a projector for each store. Each projector applies changes late
 * and out of order, like partitions that lag unevenly. Only the watermark shows how far the data is complete.
 */
export function createSourceSystem(stores: TestStore[], random: Random) {
  const replicas = stores.map((store, index): Replica => ({
    store,
    lagMax: lagMax * (1 + index),
    pending: [],
  }));
  let step = 0;
  let made = 0;
  let tickets = 0;
  const messages = new Map<string, number>();
  const instant = () => new Date(startMs + step).toISOString();

  const write = (kind: Kind, document: Written['document']) => {
    for (const replica of replicas) {
      // All changes of an entity are on one partition, so none is applied before an earlier one.
      const earlier = replica.pending
        .filter((each) => each.document._id === document._id)
        .map(({ applyAt }) => applyAt);
      const applyAt = Math.max(step + random.int(replica.lagMax), ...earlier);
      replica.pending.push({ at: step, applyAt, kind, document });
    }
  };

  const change = () => {
    // Half of the changes open a ticket. Many tickets change once only: a later change would hide an omission.
    const number = tickets === 0 || random.chance(0.5) ? tickets++ : random.int(tickets);
    const [ticketId, conversationId] = [`ti_${number}`, `conv_${number}`];
    made += 1;
    const count = (messages.get(conversationId) ?? 0) + 1;
    messages.set(conversationId, count);
    const message = { id: `msg_${number}_${count}`, conversationId, createdAt: instant() };
    write('message', build.message(message));
    write('conversation', build.conversation({ id: conversationId, ticketId, updatedAt: instant() }));
    const conversations = build.ticketJoined().conversations.map((each) => ({ ...each, id: conversationId }));
    const fields = { id: ticketId, title: `Change ${made}`, createdAt: new Date(startMs).toISOString() };
    const joined = build.ticketJoined({ conversations });
    write('ticket', build.ticket({ ...fields, updatedAt: instant() }, { joined }));
  };

  const apply = async (replica: Replica) => {
    const { store } = replica;
    const due = replica.pending.filter(({ applyAt }) => applyAt <= step);
    replica.pending = replica.pending.filter(({ applyAt }) => applyAt > step);
    for (const kind of ['message', 'conversation', 'ticket'] as const) {
      const latest = new Map(
        due.filter((each) => each.kind === kind).map(({ document }) => [document._id, document]),
      );
      if (latest.size === 0) continue;
      const collection = store.database.collection<Stored>(resources[kind].collection);
      await collection.bulkWrite(
        [...latest].map(([_id, replacement]) => ({
          replaceOne: { filter: { _id }, replacement, upsert: true },
        })),
      );
    }
    const complete = Math.min(step, ...replica.pending.map(({ at }) => at - 1));
    const completeTo = new Date(startMs + complete);
    await build.dataAsOf(store.control, completeTo);
  };

  return {
    /** Makes one change a step, then applies the changes that are due. */
    advance: async (steps: number) => {
      for (const last = step + steps; step < last; change()) step += 1;
      await Promise.all(replicas.map(apply));
    },
    /** Applies every change. */
    applyAll: async () => {
      step += lagMax * stores.length;
      await Promise.all(replicas.map(apply));
    },
  };
}
