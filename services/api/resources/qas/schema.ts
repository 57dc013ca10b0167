import { z } from 'zod';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { millisecondsSchema } from '../fields.ts';

export const qaListQuery = z.object(pageParameters);

const qaSchema = z
  .strictObject({
    id: z.string().describe('Id of the Q&A; opaque.'),
    object: z.literal('qa').describe('Always `qa`.'),
    question: z.string().describe('The primary phrasing.'),
    questionVariations: z
      .array(z.string())
      .describe('Alternative phrasings, sorted alphabetically; empty when only the primary one exists.'),
    answer: z.string().describe('The answer.'),
    agentId: z
      .string()
      .startsWith('agent_')
      .nullable()
      .describe('The AI agent that the Q&A is for; null when it is for every agent of the organization.'),
    createdAt: millisecondsSchema.describe('When the Q&A was created.'),
    updatedAt: millisecondsSchema.describe('When the Q&A was last updated.'),
  })
  .meta({ id: 'Qa', description: 'A question and its answer in the knowledge base.' });
export const qaListSchema = listSchema('QaList', qaSchema);

export type QaItem = z.output<typeof qaSchema>;
