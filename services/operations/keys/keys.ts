import type { Db } from 'mongodb';
import { type BlockedKey, blockedKeys } from '../../../shared/control/blocked-keys.ts';
import { readRegistry } from '../../../shared/control/generations.ts';
import { readLost } from '../../../shared/control/manifest.ts';
import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import { readTokenOwners, resolveToken } from '../../../shared/keys/token-keys.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/** `database` contains the documents of the served generation. `cli` is the command that starts the CLI. */
export type KeysDeps = { control: Db; database: Db; now: () => Promise<Date>; cli: string };

/** A key as `keys list` prints it. Instants are ISO 8601. */
export type ListedKey = {
  id: string;
  orgId: string;
  /** Null, like `mode`, if the served generation lacks the key. */
  name: string | null;
  mode: ApiKeyDocument['state']['mode'] | null;
  /** The requests that it may make in one window; null for `RATE_LIMIT_REQUESTS` of the API. */
  rateLimit: number | null;
  archivedAt: string | null;
  /** The key is active, but the API refuses its token: another key has it, or a blocked key had it. */
  isTokenShared: boolean;
  /** The operator who blocked the key, the time and the reason; null for an unblocked key. */
  blocked: { at: string; by: string; why: string } | null;
};

/**
 * Lists all keys, or the keys of one organization, in the order of organization and id, without their hashes. Includes
 * blocked keys that the served generation lacks.
 */
export async function listKeys(
  { control, database }: Pick<KeysDeps, 'control' | 'database'>,
  orgId?: string,
): Promise<ListedKey[]> {
  const ofOrganization = orgId === undefined ? {} : { orgId };
  const [keys, blocks] = await Promise.all([
    collectionOf<ApiKeyDocument>(database, 'apiKey')
      .find({ ...ofOrganization, deletedAt: { $exists: false } })
      .project<StoredKey>({ orgId: 1, state: 1 })
      .toArray(),
    blockedKeys(control).find(ofOrganization).toArray(),
  ]);
  const keyOf = byId(keys);
  const refused = await refusedHashes(control, database, keys);
  const blockOf = byId(blocks.filter(({ keyId }) => keyId === undefined));
  const ids = new Set([...keyOf.keys(), ...blockOf.keys()]);
  const listed = [...ids].map((id) => listKey(id, keyOf.get(id), blockOf.get(id), refused));
  return listed.sort((a, b) => a.orgId.localeCompare(b.orgId) || a.id.localeCompare(b.id));
}

type StoredKey = Pick<ApiKeyDocument, '_id' | 'orgId' | 'state'>;

/** A key, its block, or both. `refused` contains the hashes of refused tokens. */
function listKey(
  id: string,
  key: StoredKey | undefined,
  block: BlockedKey | undefined,
  refused: Set<string>,
): ListedKey {
  const isActive = key !== undefined && !key.state.archivedAt && !block;
  return {
    id,
    orgId: key?.orgId ?? block?.orgId ?? '',
    ...(key ? shownState(key) : lackedState),
    isTokenShared: isActive && refused.has(key.state.tokenSha256),
    blocked: block ? { at: block.at.toISOString(), by: block.by, why: block.why } : null,
  };
}

type ShownState = Pick<ListedKey, 'name' | 'mode' | 'rateLimit' | 'archivedAt'>;

const shownState = ({ state }: Pick<ApiKeyDocument, 'state'>): ShownState => ({
  name: state.name,
  mode: state.mode,
  rateLimit: state.rateLimit ?? null,
  archivedAt: state.archivedAt?.toISOString() ?? null,
});

/** The state of a blocked key that the served generation lacks. */
const lackedState: ShownState = { name: null, mode: null, rateLimit: null, archivedAt: null };

/** Each query looks up at most this many hashes. */
const hashesPerRead = 500;

/** The hashes of tokens that the API refuses although an active key has them. */
async function refusedHashes(control: Db, database: Db, keys: Pick<ApiKeyDocument, 'state'>[]) {
  const hashes = [...new Set(keys.map(({ state }) => state.tokenSha256))];
  const refused = new Set<string>();
  for (let start = 0; start < hashes.length; start += hashesPerRead) {
    const hashBatch = hashes.slice(start, start + hashesPerRead);
    const tokens = await readTokenOwners(control, database, hashBatch);
    for (const [hash, token] of tokens) {
      if (resolveToken(token) === 'shared_token') refused.add(hash);
    }
  }
  return refused;
}

const byId = <T extends { _id: string }>(documents: T[]) =>
  new Map(documents.map((document) => [document._id, document]));

/**
 * Blocks a key of the served generation, and its token. Returns the new block, or the earlier one if the key is blocked
 * already. Throws if the key does not exist, because a misspelt id would leave the leaked key working.
 */
export async function blockKey(
  { control, database, now, cli }: KeysDeps,
  id: string,
  { by, why }: Pick<BlockedKey, 'by' | 'why'>,
): Promise<BlockedKey> {
  const key = await collectionOf<ApiKeyDocument>(database, 'apiKey').findOne<BlockableKey>(
    { _id: id },
    { projection: { orgId: 1, 'state.tokenSha256': 1 } },
  );
  if (!key?.orgId) throw new Error(`there is no key ${id}; see: ${cli} keys list`);
  const block = { orgId: key.orgId, at: await now(), by, why };
  await blockedKeys(control).updateOne({ _id: id }, { $setOnInsert: block }, { upsert: true });
  const hash = key.state?.tokenSha256;
  if (hash !== undefined) {
    const tokenBlock = { ...block, keyId: id };
    await blockedKeys(control).updateOne({ _id: hash }, { $setOnInsert: tokenBlock }, { upsert: true });
  }
  return (await blockedKeys(control).findOne({ _id: id })) ?? { _id: id, ...block };
}

/** Whether the collection of blocked keys was lost, and with it which keys are blocked. */
export async function areBlocksLost(control: Db): Promise<boolean> {
  const registry = await readRegistry(control, { projection: { history: 0 } });
  const lost = await readLost(control, registry?.manifest);
  return lost.some(({ collection }) => collection === blockedKeys(control).collectionName);
}

/** A deleted key has no state. */
type BlockableKey = { orgId: string | null; state?: { tokenSha256: string } };

/**
 * Removes the block of the token, then the block of the key, so the key is still blocked after an interruption. Throws
 * if the key is not blocked.
 */
export async function unblockKey({ control, cli }: Pick<KeysDeps, 'control' | 'cli'>, id: string) {
  await blockedKeys(control).deleteMany({ keyId: id });
  const { deletedCount } = await blockedKeys(control).deleteOne({ _id: id });
  if (deletedCount === 0) throw new Error(`key ${id} is not blocked; see: ${cli} keys list`);
}
