import { projections } from '../../services/projector/projections/projections.ts';
import { bounds } from '../convergence/fold.ts';

/** Limits the conversations that a ticket embeds, in the engine and in the fold that it is compared with. */
export function embedAtMost(max: number): void {
  const conversations = projections.ticket.edges.find((edge) => edge.type === 'children');
  if (!conversations) throw new Error('tickets embed no conversations');
  conversations.max = max;
  bounds.embeddedConversations = max;
}
