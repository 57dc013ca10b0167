/** How a field may be displayed: see `redact.ts`. The fields of objects and arrays count one by one, except in secrets. */
export type Display = 'plain' | 'id' | 'word' | 'attribute' | 'color' | 'text' | 'secret';

const names: { [D in Display]: string } = {
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
  /** Texts that people wrote, and their names. */
  text: `name title content email question questionVariations answer filename inbox displayName replyTo
    description domain sendingDomain human ai autoReply aiDisplayName label allowedDomains redirectUrl campaign
    medium author data_base64`,
  secret: 'tokenSha256 credentials syncState identitySecret',
};

const displayByName = new Map<string, Display>(
  (Object.keys(names) as Display[]).flatMap((display) =>
    names[display].split(/\s+/).map((name) => [name, display] as const),
  ),
);

/** How a field of that name may be displayed; null for a name that the contract does not have. */
export const displayOf = (name: string): Display | null => displayByName.get(name) ?? null;
