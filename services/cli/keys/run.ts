import type { MongoClient } from 'mongodb';
import { controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { blockKey, listKeys, unblockKey, type ListedKey } from '../../operations/keys/keys.ts';
import { requireRegistry } from '../../projector/generations/registry.ts';
import { asJson } from '../output.ts';
import type { KeysCommand } from './command.ts';

/** Runs a verb on API keys. All of them need only the store. */
export async function runKeys(
  { mongo, name, operator }: { mongo: MongoClient; name: string; operator: string },
  command: KeysCommand,
): Promise<string> {
  const control = controlDatabase(mongo, name);
  const { generation } = await requireRegistry(control);
  const deps = { control, database: generationDatabase(mongo, name, generation) };
  switch (command.verb) {
    case 'keys list': {
      const keys = await listKeys(deps, command.org);
      return command.json ? asJson(keys) : keys.map(render).join('') || 'no keys\n';
    }
    case 'keys block': {
      const block = await blockKey(deps, command.id, { by: operator, why: command.why });
      return `${block._id} of ${block.orgId} is ${blocked(block)}; every replica refuses it within 6 seconds\n`;
    }
    case 'keys unblock':
      await unblockKey(deps, command.id);
      return `${command.id} is not blocked any more\n`;
  }
}

const blocked = ({ at, by, why }: { at: Date | string; by: string; why: string }) =>
  `blocked since ${new Date(at).toISOString()} by ${by} (${why})`;

function render(key: ListedKey): string {
  const states = [
    ...(key.name === null ? ['not in the served generation'] : []),
    ...(key.archivedAt ? [`archived since ${key.archivedAt}`] : []),
    ...(key.blocked ? [blocked(key.blocked)] : []),
  ];
  return `${key.id}  ${key.orgId}  ${key.mode ?? '-'}  ${states.join(', ') || 'active'}  ${key.name ?? ''}\n`;
}
