import { z } from 'zod';
import { tombstoneIndex, type Entity } from './entity.ts';
import { name, prefixedId } from './fields.ts';

/** The state of an AI agent. It is embedded in other documents and not served itself. */
const agentState = z.object({ id: prefixedId('agent_'), name, disabled: z.boolean() });

type Agent = z.output<typeof agentState>;

export const agent = {
  topic: 'agents',
  idPrefix: 'agent_',
  state: agentState,
  example: { id: 'agent_1', name: 'Robin', disabled: false },
  collection: 'agents',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
} as const satisfies Entity<Agent>;
