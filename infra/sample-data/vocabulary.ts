const words = (text: string) => text.trim().split(/\s+/);
const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => line.trim());

export const firstNames = words(`
  Amara Anton Beatriz Carlos Chen Chidi Dana Diego Elif Emma Farah Felix Giulia Hana Ines Ivan Jamal Jonas
  Kavya Keiko Lars Leila Liam Lucía Magnus Maya Mei Mohamed Nadia Noah Olga Omar Paulo Priya Rafael Rosa Sanjay
  Sara Sofia Tariq Thandi Tomás Uma Viktor Wanjiru Yara Yusuf Zoë`);

export const lastNames = words(`
  Abdi Andersson Bauer Becker Castro Chaudhry Costa Dubois Eriksen Fernández Ferrari Fischer Garcia Haddad Hansen
  Ibrahim Ito Jansen Kaya Khan Kim Kowalski Larsen Lopez Mbeki Meyer Moreau Müller Nakamura Ndlovu Novak Okafor
  Oliveira Osei Patel Petrov Quispe Rossi Sato Schmidt Silva Singh Svensson Tanaka Torres Usman Vargas Weber Yilmaz Zhang`);

/** Domains reserved for examples and tests, so that no address belongs to a real person. */
export const mailDomains = words(
  'example.com example.org mail.example.com post.example.org inbox.test family.test',
);

export const organizations = [
  {
    name: 'Lumen Outdoor',
    domain: 'lumen-outdoor.test',
    products: words('tent jacket lantern backpack stove kayak'),
  },
  {
    name: 'Harbor Books',
    domain: 'harbor-books.test',
    products: words('atlas novel cookbook notebook calendar puzzle'),
  },
  {
    name: 'Kestrel Home',
    domain: 'kestrel-home.test',
    products: words('lamp armchair kettle bookshelf mirror carpet'),
  },
] as const;

export const tagNames = lines(`
  VIP
  Refund
  Bug report
  Escalated
  Follow up
  Wholesale
  Feedback
  Press`);

/** Topics with their colours; null for none. */
export const topicColors = [
  ['Shipping', '#2f6fde'],
  ['Billing', '#12a150'],
  ['Returns', '#d9480f'],
  ['Account', null],
  ['Product advice', '#7048e8'],
  ['Warranty', null],
] as const;

export const greetings = lines(`
  Thanks for writing in!
  Thank you for the details.
  I am sorry about the trouble.
  Good question, and thank you for your patience.
  I have had a look at this for you.`);

export const closings = lines(`
  Is there anything else we can do for you?
  Let us know how it goes.
  Just reply here if it comes up again.
  Have a good day!
  We will keep an eye on it from here.`);

export const followUps = lines(`
  Any news on this?
  That worked, thank you so much! 🙏
  Hm, it still looks the same to me.
  Could you check once more, please?
  I have attached what I see.
  Perfect, that is all I needed.
  I would rather talk to a person, if that is possible.
  Sorry for the late answer, I was travelling.
  Ah, I see. And how long will it take?
  Thanks. I will try it tonight and let you know.`);

export const systemNotes = lines(`
  The conversation was assigned to a teammate.
  The AI agent handed the conversation over to a person.
  The conversation was reopened by a new message.
  The status was changed to resolved after 72 hours without an answer.`);

export const filenames = words(`
  receipt.pdf screenshot.png photo-of-damage.jpg invoice-2291.pdf label.pdf order-confirmation.eml größentabelle.xlsx`);
