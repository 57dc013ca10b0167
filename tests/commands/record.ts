import type { MongoClient } from 'mongodb';
import { kinds, resources } from '../../shared/documents/resources.ts';
import { createAnsweringProxy, type ProxiedCommand } from '../support/answering-proxy.ts';
import { isOfDriver, type Part, shapesOf } from './shape.ts';

/** A shape of command that the services send, and the collections to which they send it. */
export type Recorded = {
  text: string;
  targets: Set<string>;
  /** The first command of this shape, and its database. */
  example: { database: string; command: Part };
  /** The indexes of the plan; null without a plan, before `explainIndexes`, and on the stand-in. */
  indexes: string[] | null;
};

const entityCollections = new Set(kinds.map((kind) => resources[kind].collection));

/**
 * The target of a shape: a collection, or `entities` if the collection of every kind may receive the shape. The engine
 * finds entities by `_id` and `refs`, in batches of kinds that differ from run to run.
 */
function targetOf(collection: string | null, text: string): string {
  if (collection === null) return 'the database';
  const isOfAny = /^(insert|createIndexes|listIndexes|drop|count|.*?\{ (_id|refs)( [^,]*)?[,}])/.test(text);
  return entityCollections.has(collection) && isOfAny ? 'entities' : collection;
}

/**
 * Creates a proxy of the store that records the commands of the services. It leaves out the commands of tests, whose
 * clients name no application.
 */
export function recordCommands(mongodbUrl: string) {
  const recorded = new Map<string, Recorded>();
  const concernFaults = new Set<string>();
  const record = ({ command }: ProxiedCommand) => {
    // The first field of a command is its name. The value is the collection, if the command has one.
    const [commandName = ''] = Object.keys(command);
    if (isOfDriver(commandName)) return;
    if (lacksConcern(commandName, command)) concernFaults.add(JSON.stringify(command));
    const named: unknown = command[commandName];
    const collection = typeof named === 'string' ? named : null;
    for (const { text, statement } of shapesOf(commandName, command)) {
      const target = targetOf(collection, text);
      const key = `${entityCollections.has(target) ? 'an entity' : target} ${text}`;
      const example = { database: String(command.$db), command: statement };
      const shape = recorded.get(key) ?? { text, targets: new Set(), example, indexes: null };
      shape.targets.add(target);
      recorded.set(key, shape);
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

type Concerns = { readConcern?: { level?: string }; writeConcern?: { w?: unknown; j?: boolean } };

/** Whether a command leaves its concern to the defaults of the cluster, which an operator may change. */
function lacksConcern(name: string, command: Part): boolean {
  const { readConcern, writeConcern } = command as Concerns;
  if (readCommands.includes(name)) return readConcern?.level !== 'local';
  if (!writeCommands.includes(name)) return false;
  // Traces need no journal or majority, because a fail-over may lose the latest of them.
  if (command.insert === 'request_traces') return writeConcern?.w !== 1;
  return writeConcern?.w !== 'majority' || writeConcern.j !== true;
}

const notExplained = [
  '$db',
  'lsid',
  '$clusterTime',
  '$readPreference',
  'readConcern',
  'writeConcern',
  'txnNumber',
];

/** Asks MongoDB for the indexes of each shape without them. Does nothing on the stand-in, which cannot explain all. */
export async function explainIndexes(mongo: MongoClient, recorded: Map<string, Recorded>): Promise<void> {
  const buildInfo: object = await mongo.db('admin').command({ buildInfo: 1 });
  if ('ferretdb' in buildInfo) return;
  for (const shape of recorded.values()) {
    const { database, command } = shape.example;
    const entries = Object.entries(command).filter(([field]) => !notExplained.includes(field));
    if (shape.indexes || entries.length === 0) continue;
    const explain = Object.fromEntries(entries);
    shape.indexes = indexesIn(await mongo.db(database).command({ explain, verbosity: 'queryPlanner' }));
  }
}

/** The names of the indexes that a plan scans. Null for a plan that scans nothing. */
function indexesIn(plan: unknown): string[] | null {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const node = value as Part;
    if (node.stage === 'IDHACK') names.add('_id_');
    if (node.stage === 'COLLSCAN') names.add('none');
    if (typeof node.indexName === 'string') names.add(node.indexName);
    const { rejectedPlans: _, ...rest } = node as Record<string, unknown>;
    for (const inner of Object.values(rest)) visit(inner);
  };
  visit(plan);
  return names.size === 0 ? null : [...names].sort();
}
