/** A reason why people contact support. `{item}` and `{order}` are placeholders for their purchase. */
export type Scenario = { topic: string; titles: string[]; openings: string[]; answers: string[] };

export const scenarios: Scenario[] = [
  {
    topic: 'Shipping',
    titles: ['Where is order {order}?', 'My {item} has not arrived', 'Change of address for {order}'],
    openings: [
      'Hello, I ordered a {item} last week (order {order}) and the tracking page has not changed for four days. Could you tell me where it is?',
      'Hi! The parcel with my {item} was marked as delivered today, but nothing is here. I have asked the neighbours and looked behind the house; the driver left no card either. The order number is {order}. It is a present for Saturday, so I am getting a little nervous.',
      'I need order {order} to go to my office instead of my home. Is it too late for that?',
    ],
    answers: [
      'The carrier scanned order {order} this morning; it should reach you tomorrow before noon.',
      'I have asked the carrier to look for the parcel. They answer within two working days, and I will write to you either way.',
      'The address of order {order} is changed. You will get a new confirmation in a minute.',
    ],
  },
  {
    topic: 'Billing',
    titles: ['Charged twice for {order}', 'Invoice for {order}', 'Card declined at checkout'],
    openings: [
      'My card statement shows order {order} two times. Could you refund one of them, please?',
      'Could you send me an invoice for {order} with our company name on it? Our accounting needs it by the end of the month.',
      'I am trying to buy a {item}, and the checkout says that my card is declined. My bank says that there was never a request.',
    ],
    answers: [
      'One of the two charges was only a reservation; it disappears within three working days.',
      'The invoice for {order} is attached. The company name is on it.',
      'Our payment provider had an outage this afternoon. Would you try once more?',
    ],
  },
  {
    topic: 'Returns',
    titles: ['Return of a {item}', 'Refund for {order}', 'Wrong {item} in the box'],
    openings: [
      'I would like to send back the {item} from order {order}. It is unused. How does that work?',
      'I returned my {item} two weeks ago and have not seen the refund yet.',
      'The box of {order} had a different {item} in it than the one I ordered 😕',
    ],
    answers: [
      'The return label is attached. Drop the parcel at any post office within 30 days.',
      'The refund for {order} went out today. Banks take up to five days to show it.',
      'I am sorry for the mix-up. The right {item} leaves our warehouse today; you may keep the other one.',
    ],
  },
  {
    topic: 'Account',
    titles: ['Cannot sign in', 'Delete my account', 'Newsletter although unsubscribed'],
    openings: [
      'I cannot sign in any more. The reset link says that it has expired, even when I click it at once.',
      'Please delete my account and everything you know about me.',
      'I unsubscribed from the newsletter twice, and it still comes every Friday.',
    ],
    answers: [
      'I have sent you a fresh link; it is good for one hour.',
      'Your account is marked for deletion. It is gone for good in 14 days.',
      'You are off the list now. One more issue may be on its way already.',
    ],
  },
  {
    topic: 'Product advice',
    titles: ['Question about the {item}', 'Which {item} for a beginner?', '{item}: spare parts?'],
    openings: [
      'Does the {item} come in other colours than the ones on the page?',
      'I am looking for a first {item} for my daughter, and the choice is a little overwhelming. What would you take?',
      'Do you sell spare parts for the {item}? A small piece of mine has broken off.',
    ],
    answers: [
      'Not at the moment, but there will be two more colours in spring.',
      'Most people start with the smaller {item}; it forgives mistakes.',
      'We do. I have put the part into your basket, and it costs nothing but the postage.',
    ],
  },
  {
    topic: 'Warranty',
    titles: ['{item} broke after a month', 'Warranty for {order}', 'Noise from my {item}'],
    openings: [
      'The {item} from order {order} broke after a month of careful use. Is that covered?',
      'How long is the warranty on a {item}, and what do I need to keep for it?',
      'My {item} makes a strange noise since yesterday. I have recorded it, but the file is too large for the form.',
    ],
    answers: [
      'It is covered. Send us a photo, please, and we replace it.',
      'Two years from the day of delivery; the order number is enough.',
      'That sounds like a loose screw below the base. Would you turn it once to the right?',
    ],
  },
];
