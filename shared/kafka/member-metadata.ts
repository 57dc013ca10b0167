import kafkajs from 'kafkajs';

/** The generation that a projector follows, as its consumer group sees it. */
export type Followed = {
  /** The id of the control database, which differs between MongoDB servers; null before a projector has made the id. */
  controlId: string | null;
  /** `DATABASE_NAME` */
  database: string;
  generation: number;
};

/** The metadata with which a member joins its group. */
export type Membership = {
  /** Null if it is a projector of an earlier release, or another client. */
  followed: Followed | null;
  topics: string[];
};

/** The membership of a projector of this release. */
export type OwnMembership = Membership & { followed: Followed };

/** kafkajs ignores the version of the metadata; members of all releases send 0. */
const version = 0;

const { MemberMetadata } = kafkajs.AssignerProtocol;

export const encodeMembership = ({ followed, topics }: OwnMembership): Buffer =>
  MemberMetadata.encode({ version, topics, userData: Buffer.from(JSON.stringify(followed)) });

/** Returns null for unreadable metadata. A group shows no metadata during a rebalance. */
export function decodeMembership(metadata: Buffer): Membership | null {
  try {
    const decoded = MemberMetadata.decode(metadata);
    return decoded && { topics: decoded.topics, followed: parseFollowed(decoded.userData) };
  } catch {
    return null;
  }
}

function parseFollowed(userData: Buffer | null): Followed | null {
  try {
    const { controlId, database, generation } = JSON.parse(String(userData)) as Partial<Followed>;
    const isWhole = typeof database === 'string' && typeof generation === 'number';
    return isWhole ? { controlId: controlId ?? null, database, generation } : null;
  } catch {
    return null;
  }
}

/**
 * Returns in words why a member does not apply the generation that `own` follows; null if it applies it. A member that
 * states no generation is a projector of an earlier release if it subscribes to the same topics.
 */
export function whyForeign(own: OwnMembership, member: Membership): string | null {
  const { followed, topics } = member;
  const isShared = (topic: string) => own.topics.includes(topic);
  if (followed === null) {
    const isSame = topics.length === own.topics.length && topics.every(isShared);
    return isSame ? null : subscription(topics);
  }
  const { controlId, database, generation } = followed;
  const isOtherServer = controlId !== own.followed.controlId;
  if (isOtherServer || database !== own.followed.database || generation !== own.followed.generation) {
    const isNamesake = isOtherServer && database === own.followed.database;
    return `follows generation ${generation} of ${isNamesake ? 'another database' : 'the database'} ${database}`;
  }
  return topics.some(isShared) ? null : subscription(topics);
}

function subscription([first, ...others]: string[]): string {
  if (first === undefined) return 'subscribes to no topic';
  return `subscribes to ${first}${others.length > 0 ? ` and ${others.length} more` : ''}`;
}
