import { projections } from '../../services/projector/projections/projections.ts';
import { bounds } from '../convergence/fold.ts';

/** Limits the conversations that a ticket embeds, in the engine and in the fold. */
export function embedAtMost(max: number): void {
  const { conversations } = projections.ticket.edges;
  if (conversations?.type !== 'children') throw new Error('tickets embed no conversations');
  conversations.max = max;
  bounds.embeddedConversations = max;
}
