import type { Db } from 'mongodb';
import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import { blockedKeys, type BlockedKey } from '../../../shared/control/blocked-keys.ts';
import { storeTime } from '../../../shared/store/clock.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/** `database` holds the documents of the served generation. `cli` is how an operator starts the CLI. */
export type KeysDeps = { control: Db; database: Db; cli: string };

/** A key without its hash. `name` and `mode` are null if the served generation lacks the key. Instants are ISO 8601. */
export type ListedKey = {
  id: string;
  orgId: string;
  name: string | null;
  mode: 'live' | 'test' | null;
  archivedAt: string | null;
  blocked: { at: string; by: string; why: string } | null;
};

/** All keys, or the keys of one organization, by organization and id. Includes blocked keys that the generation lacks. */
export async function listKeys(
  { control, database }: Omit<KeysDeps, 'cli'>,
  orgId?: string,
): Promise<ListedKey[]> {
  const [keys, blocks] = await Promise.all([
    collectionOf<ApiKeyDocument>(database, 'apiKey')
      .find({ ...(orgId !== undefined && { orgId }), deletedAt: { $exists: false } })
      .project<Pick<ApiKeyDocument, '_id' | 'orgId' | 'state'>>({ orgId: 1, state: 1 })
      .toArray(),
    blockedKeys(control)
      .find(orgId === undefined ? {} : { orgId })
      .toArray(),
  ]);
  const blockOf = new Map(blocks.map((block) => [block._id, block]));
  const listed = keys.map(({ _id, orgId: owner, state }): ListedKey => ({
    id: _id,
    orgId: owner ?? '',
    name: state.name,
    mode: state.mode,
    archivedAt: state.archivedAt ? new Date(state.archivedAt).toISOString() : null,
    blocked: present(blockOf.get(_id)),
  }));
  const ids = new Set(listed.map(({ id }) => id));
  const absent = blocks
    .filter(({ _id }) => !ids.has(_id))
    .map((block): ListedKey => ({
      id: block._id,
      orgId: block.orgId,
      name: null,
      mode: null,
      archivedAt: null,
      blocked: present(block),
    }));
  return [...listed, ...absent].sort((a, b) => a.orgId.localeCompare(b.orgId) || a.id.localeCompare(b.id));
}

const present = (block: BlockedKey | undefined): ListedKey['blocked'] =>
  block ? { at: block.at.toISOString(), by: block.by, why: block.why } : null;

/**
 * Blocks a key of the served generation. Returns the block, which may be an earlier one. Throws if there is no such key:
 * a misspelt id would leave the leaked key working.
 */
export async function blockKey(
  { control, database, cli }: KeysDeps,
  id: string,
  { by, why }: Pick<BlockedKey, 'by' | 'why'>,
): Promise<BlockedKey> {
  const key = await collectionOf<ApiKeyDocument>(database, 'apiKey').findOne(
    { _id: id },
    { projection: { orgId: 1 } },
  );
  if (!key?.orgId) throw new Error(`there is no key ${id}; see: ${cli} keys list`);
  const block = { orgId: key.orgId, at: await storeTime(control), by, why };
  await blockedKeys(control).updateOne({ _id: id }, { $setOnInsert: block }, { upsert: true });
  return (await blockedKeys(control).findOne({ _id: id })) ?? { _id: id, ...block };
}

/** Removes a block. Throws if the key is not blocked. */
export async function unblockKey({ control, cli }: Omit<KeysDeps, 'database'>, id: string): Promise<void> {
  const { deletedCount } = await blockedKeys(control).deleteOne({ _id: id });
  if (deletedCount === 0) throw new Error(`key ${id} is not blocked; see: ${cli} keys list`);
}
