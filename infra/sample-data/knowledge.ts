import type { SourceState, Event } from './encode.ts';
import { change, entity, publish, remove } from './entity.ts';
import type { Random } from './random.ts';

const day = 24 * 3_600_000;

const entries: [question: string, variations: string[], answer: string][] = [
  [
    'How long does delivery take?',
    ['When will my order arrive?', 'delivery time', 'Wie lange dauert die Lieferung?'],
    'Orders that we receive before 2 pm leave on the same day and arrive within two to four working days.',
  ],
  [
    'How do I return an item?',
    ['Can I send something back?', 'return label'],
    'Write to us within 30 days; we send you a label.',
  ],
  ['Which cards do you take?', [], 'All common credit and debit cards, and bank transfer for companies.'],
  [
    'How do I reset my password?',
    ['I forgot my password'],
    'Choose “Forgot password?” on the sign-in page; the link is good for one hour.',
  ],
  [
    'Do you deliver abroad?',
    ['international shipping', 'Livrez-vous à l’étranger ?'],
    'To all of Europe, and to Canada.',
  ],
  ['How long is the warranty?', ['guarantee', 'Warranty period'], 'Two years from the day of delivery.'],
  [
    'Can I change my order?',
    ['Cancel an order', 'change address'],
    'Until it is packed, yes: reply to the confirmation.',
  ],
  [
    'Do you have a shop?',
    ['opening hours', 'Where are you?'],
    'We sell online only, and love to hear from you.',
  ],
];

/** Creates the knowledge base of an organization: some entries belong to an agent, one is deleted, one corrected. */
export function createQas(random: Random, orgId: string, agentIds: string[], now: Date): Event[] {
  const events: Event[] = [];
  entries.forEach(([question, questionVariations, answer], number) => {
    const created = new Date(now.getTime() - random.between(60, 360) * day - random.between(0, day));
    const state: SourceState<'qa'> = {
      id: random.id('qa_'),
      question,
      questionVariations,
      answer,
      agentId: number % 3 === 0 ? random.pick(agentIds) : null,
      createdAt: created.toISOString(),
      updatedAt: created.toISOString(),
    };
    const qa = entity('qa', orgId, state);
    events.push(publish(qa, created));
    const later = new Date(now.getTime() - random.between(1, 50) * day);
    if (number === 5)
      events.push(
        change(qa, { answer: `${answer} Keep the receipt.`, updatedAt: later.toISOString() }, later),
      );
    if (number === 7) events.push(remove(qa, later));
  });
  return events;
}
