import type { QaDocument } from '../../../../shared/documents/qa.ts';
import { toMilliseconds } from '../timestamps.ts';
import type { QaView } from './schema.ts';

export const presentQa = ({ own }: Pick<QaDocument, 'own'>): QaView => ({
  id: own.id,
  object: 'qa',
  question: own.question,
  questionVariations: own.questionVariations,
  answer: own.answer,
  agentId: own.agentId,
  createdAt: toMilliseconds(own.createdAt),
  updatedAt: toMilliseconds(own.updatedAt),
});
