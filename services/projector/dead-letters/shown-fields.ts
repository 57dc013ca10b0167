/** How the content of a field may be shown: see `redact.ts`. Objects and arrays are looked into, save secrets. */
export type Shown = 'plain' | 'id' | 'word' | 'attribute' | 'color' | 'text' | 'secret';

const names: { [S in Shown]: string } = {
  /** Timestamps, numbers, booleans, and the objects that hold other fields. */
  plain: `time createdAt updatedAt archivedAt pausedAt resumedAt liveAt lastSyncedAt connectedAt waitingSince
    firstHumanReplyAt resolvedAt sentAt entityversion data verified disabled inline estimatedScore urgencyScore
    dataRetentionDays attachments
    settings aiSummary urgency insights topics aiDisclosure utmTagging autoResolve enabled afterHours connection
    signatures replyDelayMinutes useForNewMessages useForReplies hosted chatbot form fields required languages
    routing escalation contactCapture phone verifyEmail audience ruleCount identityRequired`,
  id: `id subject orgid requesterId tagIds topicIds ticketId channelId contactId assignedUserId conversationId
    agentId routesToChannelId`,
  word: `status role type mode access supportLevel provider verificationStatus aiMode layout entry eagerness
    primary fallback privacyOptIn default`,
  attribute: 'specversion source datacontenttype dataschema',
  color: 'color',
  /** What people wrote, and what names them. */
  text: `name title content email question questionVariations answer filename inbox displayName replyTo
    description domain sendingDomain human ai autoReply aiDisplayName label allowedDomains redirectUrl campaign
    medium author data_base64`,
  secret: 'tokenSha256 credentials syncState identitySecret',
};

const shownByName = new Map<string, Shown>(
  (Object.keys(names) as Shown[]).flatMap((shown) =>
    names[shown].split(/\s+/).map((name) => [name, shown] as const),
  ),
);

/** How a field of that name may be shown; null for a name that the contract does not have. */
export const shownAs = (name: string): Shown | null => shownByName.get(name) ?? null;
