import { at, type Name, type Variant } from './states.ts';

/** Returns the value that a response must have at a path. `rest` is the path after the match of the pattern. */
type Expected = (variant: Variant, rest: string) => unknown;
type Source = [pattern: RegExp, expected: Expected];

const from =
  (name: Name, path = ''): Expected =>
  (variant, rest) =>
    at(variant, name, path + rest);
const fixed =
  (value: unknown): Expected =>
  () =>
    value;

const labels: Source[] = (['tags.0', 'tags.1', 'topics.0', 'topics.1'] as const).map((name) => [
  new RegExp(`^${name}\\.`),
  from(name),
]);
/** An agent has no email address. */
const emailPaths = { contact: 'email.email', user: 'email', agent: null };
const author: Source[] = [
  [
    /^author\.email$/,
    (variant) => {
      const path = emailPaths[variant.author];
      return path && at(variant, variant.author, path);
    },
  ],
  [/^author\.name$/, (variant) => at(variant, variant.author, 'name')],
];

const channel = (type: 'email' | 'chatbot' | 'form', typeSources: Source[] = []): Source[] => [
  [/^agent\./, from('agent')],
  ...typeSources,
  [/^config\./, (variant, rest) => at(variant, type, `${type}.${rest}`)],
];
/** Uses `own` for a mailbox of this provider, and `others` for every other mailbox. */
const byProvider =
  (provider: string, ownExpected: Expected, others: Expected): Expected =>
  (variant, rest) => {
    const expected = at(variant, 'email', 'email.provider') === provider ? ownExpected : others;
    return expected(variant, rest);
  };

/** The response must not have the field, because no value of a response equals undefined. */
const noField = fixed(undefined);

/**
 * The sources of the fields that a response does not take from the same path of its own state, by the specification.
 * The first pattern that matches decides.
 */
const sources: Partial<Record<Name, Source[]>> = {
  ticket: [
    [/^requester\.id$/, from('ticket', 'requesterId')],
    [/^requester\./, from('contact')],
    [/^conversations\.0\.object$/, fixed('conversation')],
    [/^conversations\.0\./, from('conversation')],
    ...labels,
  ],
  conversation: [
    [/^channel\.type$/, ({ channel: type }) => (type === 'chatbot' ? 'widget' : type)],
    [/^channel\./, (variant, rest) => at(variant, variant.channel, rest)],
    [/^contact\.id$/, (variant) => `ct_${String(at(variant, 'contact', 'id')).slice('con_'.length)}`],
    [/^contact\.email$/, from('contact', 'email.email')],
    [/^contact\./, from('contact')],
    [/^assignedToUser\./, from('user')],
    [/^lastMessagePreview$/, from('messages.0', 'content')],
    [/^messages\.\d\.object$/, fixed('message')],
    // An inbound message has no delivery time.
    [/^messages\.0\.sentAt$/, fixed(null)],
    [/^messages\.0\./, from('messages.0')],
    [/^messages\.1\./, from('messages.1')],
    ...labels,
  ],
  'messages.0': author,
  'messages.1': author,
  email: channel('email', [
    [/^config\.connection$/, byProvider('forwarding', fixed(null), noField)],
    [
      /^config\.connection\.lastSyncedAt$/,
      byProvider('microsoft', from('email', 'email.connection.lastSyncedAt'), fixed(null)),
    ],
    [/^config\.connection\./, byProvider('forwarding', noField, from('email', 'email.connection.'))],
    [/^config\.sendingDomain$/, byProvider('forwarding', fixed('svc'), fixed(null))],
    [/^config\.sendingDomain\./, byProvider('forwarding', from('email', 'email.sendingDomain.'), noField)],
  ]),
  chatbot: channel('chatbot'),
  form: channel('form', [[/^config\.routesTo\./, from('email')]]),
};

/** The kinds whose responses have instants to the second. */
const inSeconds = /^(ticket|conversation|messages\.\d)$/;
const objects: Partial<Record<Name, string>> = {
  'messages.0': 'message',
  'messages.1': 'message',
  email: 'channel',
  chatbot: 'channel',
  form: 'channel',
};

/** The value that the response of a state must have at a path. */
export function expectedAt(variant: Variant, name: Name, path: string): unknown {
  if (path === 'object') return objects[name] ?? name;
  const [pattern, expected] = sources[name]?.find(([matching]) => matching.test(path)) ?? [/^/, from(name)];
  const value = expected(variant, path.replace(pattern, ''));
  const isInstant = typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
  return isInstant && inSeconds.test(name) ? `${value.slice(0, 19)}Z` : value;
}
