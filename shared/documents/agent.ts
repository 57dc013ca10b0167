import { z } from 'zod';
import { tombstoneIndex, type Resource } from './document.ts';
import { name, prefixedId } from './fields.ts';

/** The state of an AI agent. It is embedded in other documents and not served itself. */
export const agentState = z.object({ id: prefixedId('agent_'), name, disabled: z.boolean() });

export type Agent = z.output<typeof agentState>;

export const agentResource: Resource<Agent> = {
  collection: 'agents',
  indexes: [tombstoneIndex],
  sortKeys: () => ({}),
};
