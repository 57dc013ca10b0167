import { z } from 'zod';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { millisecondsSchema } from '../timestamps.ts';

export const qaListQuery = z.object(pageParameters);

export const qaSchema = z.strictObject({
  id: z.string(),
  object: z.literal('qa'),
  question: z.string(),
  questionVariations: z.array(z.string()),
  answer: z.string(),
  agentId: z.string().startsWith('agent_').nullable(),
  createdAt: millisecondsSchema,
  updatedAt: millisecondsSchema,
});
export const qaListSchema = listSchema(qaSchema);

export type QaView = z.output<typeof qaSchema>;
