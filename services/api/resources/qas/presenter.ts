import type { QaDocument } from '../../../../shared/documents/qa.ts';
import { toMilliseconds } from '../fields.ts';
import type { QaItem } from './schema.ts';

export const presentQa = ({ state }: Pick<QaDocument, 'state'>): QaItem => ({
  id: state.id,
  object: 'qa',
  question: state.question,
  questionVariations: state.questionVariations,
  answer: state.answer,
  agentId: state.agentId,
  createdAt: toMilliseconds(state.createdAt),
  updatedAt: toMilliseconds(state.updatedAt),
});
