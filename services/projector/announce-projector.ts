import type { Db } from 'mongodb';
import { type AnnouncedEntry, createHeartbeat, type Heartbeat } from '../../shared/control/heartbeat.ts';
import type { Projector } from '../../shared/control/processes.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { ProjectorConfig } from './config.ts';
import { joinedBy } from './joined-by.ts';

/** The fields that change while a projector lives. */
type Changing = Pick<Projector, 'generation' | 'state' | 'reason' | 'duties'>;

/** The entry of this projector in the register of processes. */
export type Announcement = Heartbeat & {
  /** Changes the entry; the next beat announces it. */
  set: (changes: Partial<Changing>) => void;
};

type AnnouncementDeps = { control: Db; config: Pick<ProjectorConfig, 'GENERATION'>; logger: Logger };

/** Creates the announcement of this projector. Nothing is announced before `begin`. */
export function announceProjector({ control, config, logger }: AnnouncementDeps): Announcement {
  const { GENERATION: generation = null } = config;
  const entry: AnnouncedEntry<Projector> = {
    role: 'projector',
    generation,
    isPinned: generation !== null,
    joinedBy,
    state: 'starting',
    reason: null,
    duties: { sweep: null },
  };
  const heartbeat = createHeartbeat({ control, read: () => entry, logger });
  return {
    ...heartbeat,
    set: (changes) => {
      Object.assign(entry, changes);
    },
  };
}
