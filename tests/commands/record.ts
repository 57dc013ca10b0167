import type { MongoClient } from 'mongodb';
import { kinds, resources } from '../../shared/documents/resources.ts';
import { createAnsweringProxy, type ProxiedCommand } from '../support/answering-proxy.ts';
import { isOfDriver, type Part, shapesOf } from './shape.ts';

/** A shape that the services send, and the collections to which they send it. */
export type Recorded = {
  text: string;
  targets: Set<string>;
  /** The first example, and its database. */
  example: { database: string; command: Part };
  /** The indexes of its plan; null before `explainIndexes`, without a plan, and on the stand-in. */
  indexes: string[] | null;
};

const entityCollections = new Set(kinds.map((kind) => resources[kind].collection));

/**
 * The target of a shape: its collection, or `entities` if the services may send the shape to the collection of every
 * kind. The kinds to which they send it differ from run to run, with the batches of the engine.
 */
function targetOf(collection: string, text: string): string {
  if (collection === '') return 'the database';
  const isOfAny = /^(insert|createIndexes|listIndexes|drop|count|.*?\{ (_id|refs)( [^,]*)?[,}])/.test(text);
  return entityCollections.has(collection) && isOfAny ? 'entities' : collection;
}

/**
 * A proxy of the store that records the commands of the services, as they send them. The clients of services name an
 * application; the clients of tests do not.
 */
export function recordCommands(mongodbUrl: string) {
  const recorded = new Map<string, Recorded>();
  const concernFaults = new Set<string>();
  const record = ({ command }: ProxiedCommand) => {
    const [commandName = '', named] = Object.entries(command)[0] ?? [];
    if (isOfDriver(commandName)) return;
    if (lacksConcern(commandName, command)) concernFaults.add(JSON.stringify(command));
    const collection = typeof named === 'string' ? named : '';
    for (const { text, alone } of shapesOf(commandName, command)) {
      const target = targetOf(collection, text);
      const key = `${entityCollections.has(target) ? 'an entity' : target} ${text}`;
      const example = { database: String(command.$db), command: alone };
      const found = recorded.get(key) ?? { text, targets: new Set(), example, indexes: null };
      found.targets.add(target);
      recorded.set(key, found);
    }
  };
  const proxy = createAnsweringProxy(mongodbUrl);
  proxy.state.answer = (command) => {
    if (command.application !== null) record(command);
    return null;
  };
  return { recorded, concernFaults, listen: proxy.listen, close: proxy.close };
}

const readCommands = ['find', 'aggregate', 'count', 'distinct'];
const writeCommands = [
  'insert',
  'update',
  'delete',
  'findAndModify',
  'createIndexes',
  'drop',
  'dropDatabase',
];

/** Whether a command leaves its read or write concern to the defaults of the cluster, which an operator may change. */
function lacksConcern(name: string, command: Part): boolean {
  const { readConcern, writeConcern } = command as Record<
    string,
    { level?: string; w?: unknown; j?: boolean }
  >;
  if (readCommands.includes(name)) return readConcern?.level !== 'local';
  if (!writeCommands.includes(name)) return false;
  // A fail-over may lose the latest traces.
  if (command.insert === 'request_traces') return writeConcern?.w !== 1;
  return writeConcern?.w !== 'majority' || writeConcern.j !== true;
}

/** The fields of a command that `explain` does not accept. */
const notExplained = [
  '$db',
  'lsid',
  '$clusterTime',
  '$readPreference',
  'readConcern',
  'writeConcern',
  'txnNumber',
];

/**
 * Asks MongoDB for the indexes of each shape that is not explained yet. The stand-in does not explain every command.
 */
export async function explainIndexes(mongo: MongoClient, recorded: Map<string, Recorded>): Promise<void> {
  if ('ferretdb' in (await mongo.db('admin').command({ buildInfo: 1 }))) return;
  for (const shape of recorded.values()) {
    const { database, command } = shape.example;
    const entries = Object.entries(command).filter(([field]) => !notExplained.includes(field));
    if (shape.indexes || entries.length === 0) continue;
    const explain = Object.fromEntries(entries);
    shape.indexes = indexesIn(await mongo.db(database).command({ explain, verbosity: 'queryPlanner' }));
  }
}

/** The names of the indexes that a plan scans; null for a plan without an index. */
function indexesIn(plan: unknown): string[] | null {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const node = value as Part;
    if (node.stage === 'IDHACK') names.add('_id_');
    if (node.stage === 'COLLSCAN') names.add('none');
    if (typeof node.indexName === 'string') names.add(node.indexName);
    for (const [key, inner] of Object.entries(node)) if (key !== 'rejectedPlans') visit(inner);
  };
  visit(plan);
  return names.size === 0 ? null : [...names].sort();
}
