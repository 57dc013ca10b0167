import type { Db } from 'mongodb';
import { blockedKeys } from '../../shared/control/blocked-keys.ts';
import type { GenerationRegistry } from '../../shared/control/generations.ts';
import { readTokenOwners, resolveToken, type TokenOwners } from '../../shared/keys/token-keys.ts';
import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';

/** One reading examines at most this many tokens that several keys have. */
const tokensMax = 100;
/** One reading examines at most this many blocked tokens. */
const blockedTokensMax = 1_000;
/** The time limit of each query, in milliseconds. A query reads only the index on hashes. */
const timeoutMs = 500;

/**
 * The tokens that the API refuses because several keys have them or had them, with those keys. Reads only tokens that
 * an active key of the active generation has.
 */
export async function readSharedTokens(
  control: Db,
  databaseName: string,
  registry: GenerationRegistry | null,
): Promise<TokenOwners[]> {
  if (!registry) return [];
  const database = generationDatabase(control.client, databaseName, registry.generation);
  const hashes = [...(await readSharedHashes(database)), ...(await readBlockedHashes(control))];
  if (hashes.length === 0) return [];
  const tokens = await readTokenOwners(control, database, [...new Set(hashes)], { maxTimeMS: timeoutMs });
  return [...tokens.values()].filter((token) => resolveToken(token) === 'shared_token');
}

/** The hashes of the tokens that several keys have. */
async function readSharedHashes(database: Db): Promise<string[]> {
  const stages = [
    { $match: { 'state.tokenSha256': { $gt: '' } } },
    { $group: { _id: '$state.tokenSha256', keys: { $sum: 1 } } },
    { $match: { keys: { $gt: 1 } } },
    { $limit: tokensMax },
  ];
  const found = await collectionOf(database, 'apiKey')
    .aggregate<{ _id: string }>(stages, { maxTimeMS: timeoutMs })
    .toArray();
  return found.map(({ _id }) => _id);
}

async function readBlockedHashes(control: Db): Promise<string[]> {
  const found = await blockedKeys(control)
    .find(
      { keyId: { $exists: true } },
      { projection: { _id: 1 }, limit: blockedTokensMax, maxTimeMS: timeoutMs },
    )
    .sort({ _id: 1 })
    .toArray();
  return found.map(({ _id }) => _id);
}
