import { chatbotBlock, emailBlock, formBlock, settingsOf, type EmailBlock } from './channel-blocks.ts';
import type { SourceState } from './encode.ts';
import { entity, type Entity } from './entity.ts';
import type { Random } from './random.ts';

type ChannelState = SourceState<'channel'>;
type Common = Partial<Pick<ChannelState, 'archivedAt' | 'pausedAt' | 'resumedAt' | 'dataRetentionDays'>>;
type Context = { random: Random; orgId: string; domain: string; agentIds: string[]; now: Date };

/** The channels that accept new tickets, all channels that remain, and one that will be deleted. */
type Channels = { open: Entity<'channel'>[]; all: Entity<'channel'>[]; toDelete: Entity<'channel'> };

const hours = 3_600_000;
const days = 24 * hours;

/** Creates channels of every type, provider, state and issue that the API can show. */
export function createChannels(context: Context): Channels {
  const ago = (ms: number) => new Date(context.now.getTime() - ms).toISOString();
  const add = addChannel(context);
  const { domain } = context;
  const inbox = emailInbox(add, domain);
  const liveAt = ago(300 * days);
  const connected = { status: 'connected', connectedAt: ago(301 * days) } as const;
  const justNow = ago(60_000);
  const support = inbox('support', 'Support', {
    provider: 'forwarding',
    liveAt,
    sendingDomain: { hosted: true },
  });
  const billing = inbox('billing', 'Billing', {
    provider: 'forwarding',
    liveAt,
    sendingDomain: { domain, verificationStatus: 'verified' },
    aiMode: { mode: 'autopilot', replyDelayMinutes: 5, aiDisplayName: 'Robin' },
  });
  const orders = inbox('orders', 'Orders', {
    provider: 'microsoft',
    liveAt,
    connection: { ...connected, lastSyncedAt: justNow },
  });
  const sales = inbox(
    'sales',
    'Sales',
    { provider: 'google', liveAt, connection: connected },
    { pausedAt: ago(9 * days), resumedAt: ago(8 * days) },
  );
  const chat = add('Website chat', (state) => ({
    ...state,
    type: 'chatbot',
    chatbot: chatbotBlock(domain, {}),
  }));
  const help = add('Help center search', (state) => ({
    ...state,
    type: 'chatbot',
    chatbot: chatbotBlock(domain, {
      layout: 'search',
      routing: {
        entry: 'live_chat_first',
        escalation: { primary: 'email', fallback: null },
        contactCapture: { name: false, phone: false, verifyEmail: false },
      },
    }),
  }));
  const form = add('Contact form', (state) => ({
    ...state,
    type: 'form',
    form: formBlock('Contact us', support.state.id),
  }));
  const open = [support, billing, orders, sales, chat, help, form];
  const withIssues = inboxesWithIssues(inbox, context, ago);
  const inactive = inactiveChannels(add, context, ago, support.state.id);
  const toDelete = inbox('old', 'Old inbox', { provider: 'forwarding', sendingDomain: { hosted: true } });
  return { open, all: [...open, ...withIssues, ...inactive], toDelete };
}

type Add = (
  name: string,
  complete: (state: Omit<ChannelState, 'type'>) => ChannelState,
  common?: Common,
) => Entity<'channel'>;

function addChannel({ random, orgId, agentIds, now }: Context): Add {
  let created = now.getTime() - 400 * days;
  return (name, complete, common = {}) => {
    created += random.between(1, 5) * days;
    const state = complete({
      id: random.id('chan_'),
      name,
      agentId: random.chance(0.7) ? random.pick(agentIds) : null,
      createdAt: new Date(created).toISOString(),
      updatedAt: new Date(created + random.between(1, 90) * hours).toISOString(),
      dataRetentionDays: random.pick([null, 0, 365, 730]),
      settings: settingsOf('email'),
      ...common,
    });
    return entity('channel', orgId, { ...state, settings: settingsOf(state.type) });
  };
}

type Inbox = (
  local: string,
  name: string,
  block: Parameters<typeof emailBlock>[3],
  common?: Common,
) => Entity<'channel'>;

const emailInbox =
  (add: Add, domain: string): Inbox =>
  (local, name, block, common) =>
    add(
      `${name} inbox`,
      (state) => ({ ...state, type: 'email', email: emailBlock(local, name, domain, block) }),
      common,
    );

/** One inbox for each issue. An observing inbox cannot have an issue; one inbox only observes. */
function inboxesWithIssues(inbox: Inbox, { domain }: Context, ago: (ms: number) => string) {
  const liveAt = ago(200 * days);
  const connectedAt = ago(201 * days);
  const blocks: Record<string, Pick<EmailBlock, 'provider'> & Partial<EmailBlock>> = {
    press: { provider: 'forwarding', liveAt },
    jobs: {
      provider: 'forwarding',
      liveAt,
      sendingDomain: { domain: `jobs.${domain}`, verificationStatus: 'pending' },
    },
    events: {
      provider: 'forwarding',
      liveAt,
      sendingDomain: { domain: `events.${domain}`, verificationStatus: 'failed' },
    },
    partners: {
      provider: 'microsoft',
      liveAt,
      connection: { status: 'connected', connectedAt, lastSyncedAt: ago(9 * hours) },
    },
    legal: { provider: 'microsoft', liveAt, connection: { status: 'pending' } },
    privacy: { provider: 'microsoft' },
    repairs: { provider: 'google', liveAt, connection: { status: 'needs_reauth', connectedAt } },
    wholesale: { provider: 'google', liveAt, connection: { status: 'disconnected', connectedAt } },
    feedback: { provider: 'google', connection: { status: 'connected', connectedAt } },
  };
  return Object.entries(blocks).map(([local, block]) =>
    inbox(local, local.charAt(0).toUpperCase() + local.slice(1), block),
  );
}

/** Channels that are paused or archived. One of them also has an issue. */
function inactiveChannels(add: Add, { domain }: Context, ago: (ms: number) => string, routesTo: string) {
  const paused = { pausedAt: ago(3 * days) };
  const archived = { archivedAt: ago(40 * days) };
  const press = { provider: 'forwarding' } as const;
  return [
    add(
      'Checkout assistant',
      (state) => ({ ...state, type: 'chatbot', chatbot: chatbotBlock(domain, { layout: 'panel' }) }),
      paused,
    ),
    add(
      'Season inbox',
      (state) => ({ ...state, type: 'email', email: emailBlock('season', 'Season', domain, press) }),
      paused,
    ),
    add(
      'Former widget',
      (state) => ({ ...state, type: 'chatbot', chatbot: chatbotBlock(domain, { layout: 'page' }) }),
      archived,
    ),
    add(
      'Return form',
      (state) => ({ ...state, type: 'form', form: formBlock('Returns', routesTo) }),
      archived,
    ),
  ];
}
