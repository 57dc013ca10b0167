/** Why people write to a shop, and the answers that they get. `{item}` and `{order}` stand for their purchase. */
export type Case = { topic: string; title: string; opening: string; answer: string };

export const cases: Case[] = [
  {
    topic: 'Shipping',
    title: 'Where is order {order}?',
    opening:
      'Hello, I ordered a {item} last week (order {order}), and the tracking page has not changed for four days. Could you tell me where it is? It is a present for Saturday, so I am getting a little nervous.',
    answer: 'The carrier scanned order {order} this morning; it should reach you tomorrow before noon.',
  },
  {
    topic: 'Shipping',
    title: 'Change of address for {order}',
    opening: 'I need order {order} to go to my office instead of my home. Is it too late for that?',
    answer: 'The address of order {order} is changed. You will get a new confirmation in a minute.',
  },
  {
    topic: 'Billing',
    title: 'Charged twice for {order}',
    opening: 'My card statement shows order {order} two times. Could you refund one of them, please?',
    answer: 'One of the two charges was only a reservation; it disappears within three working days.',
  },
  {
    topic: 'Returns',
    title: 'Wrong {item} in the box',
    opening: 'The box of {order} had a different {item} in it than the one I ordered 😕',
    answer: 'I am sorry for the mix-up. The right {item} leaves today; you may keep the other one.',
  },
  {
    topic: 'Account',
    title: 'Cannot sign in',
    opening:
      'I cannot sign in any more. The reset link says that it has expired, even when I click it at once.',
    answer: 'I have sent you a fresh link; it is good for one hour.',
  },
  {
    topic: 'Product advice',
    title: 'Which {item} for a beginner?',
    opening: 'I am looking for a first {item} for my daughter, and the choice is a little overwhelming.',
    answer: 'Most people start with the smaller {item}; it forgives mistakes.',
  },
  {
    topic: 'Warranty',
    title: '{item} broke after a month',
    opening: 'The {item} from order {order} broke after a month of careful use. Is that covered?',
    answer: 'It is covered: two years from the day of delivery. Send us a photo, please, and we replace it.',
  },
];

export const followUps = [
  'Any news on this?',
  'That worked, thank you so much! 🙏',
  'Hm, it still looks the same to me. Could you check once more, please?',
  'I would rather talk to a person, if that is possible.',
  'Ah, I see. And how long will it take? Könnten Sie mir auch auf Deutsch antworten?',
];

export const systemNotes = [
  'The conversation was assigned to a teammate.',
  'The AI agent handed the conversation over to a person.',
  'The status was changed to resolved after 72 hours without an answer.',
];

export const tagNames = ['VIP', 'Refund', 'Bug report', 'Escalated', 'Follow up', 'Wholesale', 'Press'];
