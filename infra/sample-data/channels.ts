import { chatbotBlock, emailBlock, formBlock, settingsOf, type EmailBlock } from './channel-blocks.ts';
import type { SourceState } from './encode.ts';
import { entity, type Entity } from './entity.ts';
import type { Random } from './random.ts';

type ChannelState = SourceState<'channel'>;
type Common = Partial<Pick<ChannelState, 'archivedAt' | 'pausedAt' | 'resumedAt' | 'dataRetentionDays'>>;
type Setting = { random: Random; orgId: string; domain: string; agentIds: string[]; now: Date };

/** Channels by what they are for: those that take new tickets, all that stay, and one that gets deleted. */
export type Channels = { open: Entity<'channel'>[]; all: Entity<'channel'>[]; doomed: Entity<'channel'> };

const hours = 3_600_000;
const days = 24 * hours;

/** Every type of channel, every provider, every state and every issue that the API can show. */
export function createChannels(setting: Setting): Channels {
  const ago = (ms: number) => new Date(setting.now.getTime() - ms).toISOString();
  const add = addChannel(setting);
  const { domain } = setting;
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
  const ailing = ailingInboxes(inbox, setting, ago);
  const resting = restingChannels(add, setting, ago, support.state.id);
  const doomed = inbox('old', 'Old inbox', { provider: 'forwarding', sendingDomain: { hosted: true } });
  return { open, all: [...open, ...ailing, ...resting], doomed };
}

type Add = (
  name: string,
  complete: (state: Omit<ChannelState, 'type'>) => ChannelState,
  common?: Common,
) => Entity<'channel'>;

function addChannel({ random, orgId, agentIds, now }: Setting): Add {
  let created = now.getTime() - 400 * days;
  return (name, complete, common = {}) => {
    created += random.int(1, 5) * days;
    const state = complete({
      id: random.id('chan_'),
      name,
      agentId: random.chance(0.7) ? random.pick(agentIds) : null,
      createdAt: new Date(created).toISOString(),
      updatedAt: new Date(created + random.int(1, 90) * hours).toISOString(),
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

/** One inbox for each issue; observing ones can have none, and one is only observing. */
function ailingInboxes(inbox: Inbox, { domain }: Setting, ago: (ms: number) => string) {
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

/** Channels that are paused or archived, one of them with an issue beside. */
function restingChannels(add: Add, { domain }: Setting, ago: (ms: number) => string, routesTo: string) {
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
