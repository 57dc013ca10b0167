import type { Channel } from '../../../../shared/documents/channel.ts';
import { channel, forwardingConfig } from '../../../../tests/api/builders.ts';
import { channelStatus } from './status.ts';

const now = new Date('2026-01-02T00:00:00Z');
const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000).toISOString();
const email = (block: Record<string, unknown> = {}, fields: Record<string, unknown> = {}): Channel =>
  channel({ id: 'chan_1', type: 'email', email: { ...forwardingConfig, ...block }, ...fields }).state;
const form = (fields: Record<string, unknown>): Channel =>
  channel({ id: 'chan_1', type: 'form', ...fields }).state;
const mailbox = (provider: string, connection: unknown) =>
  email({ provider, connection, sendingDomain: null });

const early = hoursAgo(20);
const late = hoursAgo(10);

describe('the state of a channel', () => {
  test.each([
    {
      name: 'archived before all else',
      channelState: form({ archivedAt: late, pausedAt: early }),
      state: 'archived',
      since: late,
    },
    { name: 'paused', channelState: form({ pausedAt: late }), state: 'paused', since: late },
    {
      name: 'paused again after it was resumed',
      channelState: form({ pausedAt: late, resumedAt: early }),
      state: 'paused',
      since: late,
    },
    {
      name: 'paused when resumed at the same instant',
      channelState: form({ pausedAt: late, resumedAt: late }),
      state: 'paused',
      since: late,
    },
    {
      name: 'paused before its issues',
      channelState: email({ sendingDomain: null }, { pausedAt: late }),
      state: 'paused',
      since: late,
    },
    {
      name: 'live since it was resumed',
      channelState: form({ pausedAt: early, resumedAt: late }),
      state: 'live',
      since: late,
    },
    { name: 'live since an unknown time', channelState: form({}), state: 'live', since: null },
    {
      name: 'live since it went live',
      channelState: email({ liveAt: late }, { pausedAt: null, resumedAt: early }),
      state: 'live',
      since: late,
    },
    {
      name: 'live since it was resumed',
      channelState: email({ liveAt: early }, { resumedAt: late }),
      state: 'live',
      since: late,
    },
    {
      name: 'observing before the inbox is live',
      channelState: email({ liveAt: null }),
      state: 'observing',
      since: null,
    },
    {
      name: 'observing again',
      channelState: email({ liveAt: null }, { pausedAt: early, resumedAt: late }),
      state: 'observing',
      since: late,
    },
    {
      name: 'paused, not observing',
      channelState: email({ liveAt: null }, { pausedAt: late, resumedAt: early }),
      state: 'paused',
      since: late,
    },
    {
      name: 'in need, not observing',
      channelState: email({ liveAt: null, sendingDomain: null }),
      state: 'needs_attention',
      since: null,
    },
  ])('is $name', ({ channelState, state, since }) => {
    const status = channelStatus(channelState, now);
    expect({ state: status.state, since: status.since?.toISOString() ?? null }).toEqual({ state, since });
  });

  test('keeps the issues of a paused channel', () => {
    expect(channelStatus(email({ sendingDomain: null }, { pausedAt: late }), now).issues).toEqual([
      'missing_domain',
    ]);
  });
});

const custom = (verificationStatus: string) =>
  email({ sendingDomain: { domain: 'a.com', verificationStatus } });
const synced = (provider: string, lastSyncedAt: string | null, connectedAt: string | null = null) =>
  mailbox(provider, { status: 'connected', lastSyncedAt, connectedAt });

describe('the issues of an inbox', () => {
  test.each([
    ['microsoft without a connection', mailbox('microsoft', null), ['mailbox_not_connected']],
    ['google without a connection', mailbox('google', null), ['mailbox_not_connected']],
    ['a pending connection', mailbox('google', { status: 'pending' }), ['mailbox_not_connected']],
    ['an expired connection', mailbox('google', { status: 'needs_reauth' }), ['reconnect_needed']],
    ['a disconnected mailbox', mailbox('microsoft', { status: 'disconnected' }), ['mailbox_disconnected']],
    ['a mailbox read 6 hours ago', synced('microsoft', hoursAgo(6)), []],
    ['a mailbox read over 6 hours ago', synced('microsoft', hoursAgo(6.001)), ['sync_stalled']],
    ['a mailbox never read, connected long ago', synced('microsoft', null, early), ['sync_stalled']],
    ['a mailbox never read, connected just now', synced('microsoft', null, hoursAgo(1)), []],
    ['a mailbox of which no time is known', synced('microsoft', null), []],
    ['a google mailbox read long ago', synced('google', early), []],
    ['forwarding without a domain', email({ sendingDomain: null }), ['missing_domain']],
    ['forwarding with an unused connection', email({ connection: { status: 'disconnected' } }), []],
    ['the own domain', email(), []],
    ['a verified domain', custom('verified'), []],
    ['a pending domain', custom('pending'), ['domain_not_verified']],
    ['a domain being verified', custom('verifying'), ['domain_not_verified']],
    ['a domain that failed', custom('failed'), ['domain_not_verified']],
    ['a form', form({}), []],
  ])('of %s', (_, state, issues) => {
    expect(channelStatus(state, now).issues).toEqual(issues);
  });
});
