import { projections } from '../../services/projector/projections/projections.ts';
import { bounds } from '../convergence/fold.ts';

/** Has tickets embed no more conversations than so many, in the engine and in the fold that it is held to. */
export function embedAtMost(max: number): void {
  const { conversations } = projections.ticket.edges;
  if (conversations?.type !== 'children') throw new Error('tickets embed no conversations');
  conversations.max = max;
  bounds.embeddedConversations = max;
}
