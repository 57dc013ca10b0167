import type { Kind } from '../../shared/documents/document.ts';
import { states } from '../../shared/documents/resources.ts';
import type { Event } from '../support/events.ts';

/**
 * The pure fold of a log: what every document must come to, computed the plainest way, from the contract alone
 * and apart from the engine. Records of one key are folded in their order; then each document is joined from
 * the final states.
 */
type Row = { orgId: string; version: number; own: Any | null; gone: boolean };
type Any = Record<string, never> & Record<string, unknown>;
export type Expected = Map<
  string,
  { kind: Kind; orgId: string; version: number; own: unknown; joined: unknown }
>;

export function fold(history: Event[]): Expected {
  const rows = new Map<string, Row & { kind: Kind }>();
  for (const event of history) {
    const row = rows.get(event.id);
    if (event.op === 'tombstone') {
      if (row) rows.set(event.id, { ...row, own: null, gone: true });
      continue;
    }
    if (row && row.orgId !== event.orgId) continue;
    if (row && event.version <= row.version) continue;
    const { kind, orgId, version } = event;
    const final = kind === 'conversation' && (row?.gone ?? false);
    const own = event.op === 'deleted' || final ? null : (states[kind].parse(event.data) as unknown as Any);
    rows.set(event.id, { kind, orgId, version, own, gone: own === null });
  }
  const living = (kind: Kind, id: unknown, orgId: string): any => {
    const row = rows.get(String(id));
    return row && row.kind === kind && row.orgId === orgId ? row.own : null;
  };
  const all = (kind: Kind, orgId: string): any[] =>
    [...rows.values()]
      .filter((row) => row.kind === kind && row.orgId === orgId && row.own)
      .map((row) => row.own);
  const expected: Expected = new Map();
  for (const [id, { kind, orgId, version, own }] of rows) {
    if (!own) continue;
    const owner = kind === 'message' ? rows.get(String(own.conversationId)) : undefined;
    if (owner && owner.orgId === orgId && owner.gone) continue;
    expected.set(id, { kind, orgId, version, own, joined: joinedOf(kind, own, orgId, living, all, rows) });
  }
  return expected;
}

const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function joinedOf(
  kind: Kind,
  own: any,
  orgId: string,
  living: (kind: Kind, id: unknown, orgId: string) => any,
  all: (kind: Kind, orgId: string) => any[],
  rows: Map<string, Row>,
): unknown {
  const labels = (of: Kind, ids: string[], colored: boolean) =>
    ids
      .map((id) => living(of, id, orgId))
      .filter((label) => label !== null)
      .map(({ id, name, color }) => (colored ? { id, name, color } : { id, name }));
  const contact = living('contact', own.requesterId ?? own.contactId, orgId);
  switch (kind) {
    case 'ticket':
      return {
        requester: contact && { name: contact.name, email: contact.email },
        tags: labels('tag', own.tagIds, false),
        topics: labels('topic', own.topicIds, false),
        conversations: all('conversation', orgId)
          .filter(({ ticketId, channelId }) => ticketId === own.id && living('channel', channelId, orgId))
          .sort((a, b) => a.createdAt - b.createdAt || bytes(a.id, b.id))
          .map(({ id, role, status, createdAt, updatedAt }) => ({ id, role, status, createdAt, updatedAt })),
      };
    case 'conversation': {
      const channel = living('channel', own.channelId, orgId);
      const user = living('user', own.assignedUserId, orgId);
      const [first] = all('message', orgId)
        .filter(({ conversationId }) => conversationId === own.id)
        .sort((a, b) => a.createdAt - b.createdAt || bytes(a.id, b.id));
      return {
        channel: channel && { id: channel.id, name: channel.name, type: channel.type },
        contact: contact && { name: contact.name, email: contact.email?.email ?? null },
        assignedUser: user && { id: user.id, name: user.name, email: user.email },
        topics: labels('topic', own.topicIds, true),
        tags: labels('tag', own.tagIds, false),
        opening: first
          ? {
              id: first.id,
              byCreated: first.createdAt.toISOString() + first.id,
              preview: previewOf(first.content),
            }
          : null,
      };
    }
    case 'message': {
      const kinds: Record<string, Kind> = { contact: 'contact', user: 'user', ai_agent: 'agent' };
      const author = own.author && living(kinds[own.author.type] ?? 'contact', own.author.id, orgId);
      const email = (author?.email as { email?: string } | string | undefined) ?? null;
      return {
        author: author && {
          name: author.name,
          email: typeof email === 'string' ? email : (email?.email ?? null),
        },
      };
    }
    case 'channel': {
      const agent = living('agent', own.agentId, orgId);
      const target = living('channel', own.config.routesToChannelId, orgId);
      return {
        agent: agent && { id: agent.id, name: agent.name, disabled: agent.disabled },
        routesTo: target && { id: target.id, name: target.name },
      };
    }
    case 'apiKey':
    case 'contact':
    case 'user':
    case 'agent':
    case 'tag':
    case 'topic':
    case 'qa':
      void rows;
      return {};
  }
}

/** Grapheme by grapheme, as long as 200 code points are not passed. */
function previewOf(content: string | null): string | null {
  if (content === null || [...content].length <= 200) return content;
  let result = '';
  for (const { segment } of new Intl.Segmenter('en').segment(content)) {
    if ([...(result + segment)].length > 200) break;
    result += segment;
  }
  return `${result}…`;
}
