import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { shellWord } from '../deployment.ts';
import { type PublishDeps, publishKey } from './create-key.ts';
import type { KeysDeps } from './keys.ts';

type ArchivableKey = Pick<ApiKeyDocument, '_id' | 'state'> & { orgId: string };

/**
 * Reads a key of the served generation. Throws if `archiveKey` must not archive it: `keys create` publishes only one
 * version, so a key with a later version belongs to the source system, whose next version would undo the archiving.
 */
export async function readArchivable({ database, cli }: KeysDeps, id: string): Promise<ArchivableKey> {
  const key = await collectionOf<ApiKeyDocument>(database, 'apiKey').findOne({ _id: id });
  if (!key?.orgId || key.deletedAt) throw new Error(`there is no key ${id}; see: ${cli} keys list`);
  const { _id, orgId, state, version } = key;
  if (version > 1 && !state.archivedAt)
    throw new Error(
      `key ${id} has version ${version}, so "keys create" did not make it: archive it in the source system, or block it ` +
        `with: ${cli} keys block ${shellWord(id)}`,
    );
  return { _id, orgId, state };
}

/** Publishes that a key is archived, as the source system would. Returns the instant of the archiving. */
export async function archiveKey(deps: PublishDeps & Pick<KeysDeps, 'now'>, key: ArchivableKey) {
  const { orgId, state } = key;
  const archivedAt = (await deps.now()).toISOString();
  await publishKey(deps, orgId, { ...state, createdAt: state.createdAt.toISOString(), archivedAt });
  return archivedAt;
}
