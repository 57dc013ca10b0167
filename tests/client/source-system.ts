import type { Document } from 'mongodb';
import type { Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import * as given from '../api/builders.ts';
import type { TestStore } from '../api/test-api.ts';
import type { Random } from '../support/random.ts';

type Stored = Document & { _id: string };
type Written = { at: number; applyAt: number; kind: Kind; document: Stored };
type Replica = { store: TestStore; lagMax: number; pending: Written[] };

const startMs = Date.parse('2026-01-01T00:00:00Z');
/** A change is applied to the first store at most this many steps after it was made, to each further one later. */
const lagMax = 8;

/**
 * A support desk that makes a change at each step, and for each store a projector which applies changes late and
 * out of order, as partitions that lag differently do; what is complete is said by the watermark alone.
 */
export function createProduct(stores: TestStore[], random: Random) {
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
      // An entity is on one partition, whose order holds: it is never applied before its own earlier changes.
      const earlier = replica.pending
        .filter((each) => each.document._id === document._id)
        .map(({ applyAt }) => applyAt);
      const applyAt = Math.max(step + random.int(replica.lagMax), ...earlier);
      replica.pending.push({ at: step, applyAt, kind, document });
    }
  };

  const change = () => {
    // Every other one is new, and so is many a ticket's last: later ones would make up for what is left out.
    const number = tickets === 0 || random.chance(0.5) ? tickets++ : random.int(tickets);
    const [ticketId, conversationId] = [`ti_${number}`, `conv_${number}`];
    made += 1;
    const count = (messages.get(conversationId) ?? 0) + 1;
    messages.set(conversationId, count);
    const message = { id: `msg_${number}_${count}`, conversationId, createdAt: instant() };
    write('message', given.message(message));
    write('conversation', given.conversation({ id: conversationId, ticketId, updatedAt: instant() }));
    const conversations = given.ticketJoined().conversations.map((each) => ({ ...each, id: conversationId }));
    const fields = { id: ticketId, title: `Change ${made}`, createdAt: new Date(startMs).toISOString() };
    const joined = given.ticketJoined({ conversations });
    write('ticket', given.ticket({ ...fields, updatedAt: instant() }, { joined }));
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
    await given.dataAsOf(store.control, completeTo);
  };

  return {
    /** So many changes, and the application of those that are due by then. */
    advance: async (steps: number) => {
      for (const last = step + steps; step < last; change()) step += 1;
      await Promise.all(replicas.map(apply));
    },
    /** Applies all that was made. */
    settle: async () => {
      step += lagMax * stores.length;
      await Promise.all(replicas.map(apply));
    },
  };
}
