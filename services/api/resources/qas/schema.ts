import { z } from 'zod';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { millisecondsSchema } from '../fields.ts';

export const qaListQuery = z.object(pageParameters);

const qaSchema = z
  .strictObject({
    id: z.string().describe('Opaque id of the Q&A.'),
    object: z.literal('qa').describe('Always `qa`.'),
    question: z.string().describe('The primary phrasing of the question.'),
    questionVariations: z
      .array(z.string())
      .describe('Alternative phrasings in alphabetical order; empty if there is only the primary phrasing.'),
    answer: z.string().describe('The answer.'),
    agentId: z
      .string()
      .startsWith('agent_')
      .nullable()
      .describe('Id of the AI agent that uses the Q&A; null if every agent of the organization uses it.'),
    createdAt: millisecondsSchema.describe('When the Q&A was created.'),
    updatedAt: millisecondsSchema.describe('When the Q&A was last updated.'),
  })
  .meta({ id: 'Qa', description: 'A question and its answer in the knowledge base.' });
export const qaListSchema = listSchema('QaList', qaSchema);

export type QaItem = z.output<typeof qaSchema>;
