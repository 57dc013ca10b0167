import { type Command, Option } from '@commander-js/extra-typings';
import { rateLimitMax } from '../../shared/documents/api-key.ts';
import { digits } from '../../shared/runtime/counted.ts';
import { archiveKey, readArchivable } from '../operations/keys/archive-key.ts';
import { type CreatedKey, createKey, type NewKey, type PublishDeps } from '../operations/keys/create-key.ts';
import { areBlocksLost, blockKey, type ListedKey, listKeys, unblockKey } from '../operations/keys/keys.ts';
import { configs } from './config.ts';
import {
  closeWithin,
  confirmOrThrow,
  type Context,
  type KafkaConfig,
  type Output,
  type SelectVerb,
  withKafka,
} from './context.ts';
import { withReadModel } from './operate.ts';
import { exampleHelp, jsonOption, parseName, parseOrgId, wholeNumber, whyOption } from './options.ts';
import { type Flag, inOneColumn, type Json, lines, output } from './output.ts';

export function addKeys(program: Command, select: SelectVerb): void {
  const group = program
    .command('keys')
    .helpCommand(false)
    .description('create and list API keys, and block the ones that must stop working at once');
  group
    .command('list')
    .description('print the id, organization, mode, state, limit and name of each key; no tokens are stored')
    .addOption(orgOption('only keys of this organization'))
    .addOption(jsonOption())
    .addHelpText('after', exampleHelp('keys list --org org_1'))
    .action((options) => select(list, options));
  addCreate(group, select);
  group
    .command('archive')
    .description('publish that a key made by "keys create" is archived; asks for confirmation on a terminal')
    .argument('<id>', 'as "keys list" prints it')
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'make the checks, but change nothing')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nIt stops working once a projector has applied the event; "keys block" stops it at once. A key of the source system\n' +
        'is archived there. Needs KAFKA_BROKERS, and Write on the topic of the keys.',
    )
    .addHelpText('after', exampleHelp('keys archive key_01K3QZ8M4T'))
    .action((id, options) => select(archive, { id, ...options }));
  group
    .command('block')
    .description('block a key: every API replica refuses it within 6 seconds, without Kafka or a projector')
    .argument('<id>', 'as "keys list" prints it')
    .addOption(whyOption('the reason, which "keys list" prints').makeOptionMandatory())
    .addHelpText(
      'after',
      '\nIt stays blocked until "keys unblock", even after a promotion or a rollback. So does its token, which the API\n' +
        'refuses whatever other key has it, even once this key is deleted.',
    )
    .addHelpText('after', exampleHelp('keys block key_1 --why "leaked in a public repository"'))
    .action((id, options) => select(block, { id, ...options }));
  group
    .command('unblock')
    .description('let a blocked key work again, unless it is archived or deleted')
    .argument('<id>', 'as "keys list" prints it')
    .addHelpText('after', exampleHelp('keys unblock key_1'))
    .action((id) => select(unblock, { id }));
}

function addCreate(group: Command, select: SelectVerb): void {
  group
    .command('create')
    .description('publish a new API key, and print its token, which is stored nowhere')
    .addOption(orgOption('the organization whose data the key reads').makeOptionMandatory())
    .option('--name <text>', 'the name, which "keys list" prints', parseName, 'support-cli')
    .addOption(
      new Option(
        '--rate-limit <requests>',
        'that it may make in a window, in place of RATE_LIMIT_REQUESTS',
      ).argParser(wholeNumber(rateLimitMax)),
    )
    .addOption(new Option('--mode <mode>', 'in the token').choices(modes).default(modes[0]))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nIts token is printed first, and works once the verb has ended with exit code 0 and a projector has applied the event.\n' +
        'Needs KAFKA_BROKERS, and Write on the topic of the keys.',
    )
    .addHelpText('after', exampleHelp('keys create --org org_1 --name Export --rate-limit 1000'))
    .action(({ org, ...options }) => select(create, { orgId: org, ...options }));
}

const modes = ['live', 'test'] as const;

const orgOption = (description: string) => new Option('--org <id>', description).argParser(parseOrgId);

function create(context: Context, { json, ...key }: NewKey & Json): Promise<Output> {
  const config = configs.kafka(context.environment);
  return withProducer(context, config, async (deps) => {
    const printToken = async (created: CreatedKey): Promise<void> => {
      const line = `${created.id} of ${created.orgId}: ${created.token}`;
      await context.terminal.print(output({ json }, created, lines([line])).text);
    };
    await createKey({ ...deps, keyPrefix: config.KEY_PREFIX }, key, printToken);
    return { text: '', exitCode: 0 };
  });
}

/** Connects a producer for the topic of the keys, and disconnects it after `use`. */
const withProducer = (context: Context, config: KafkaConfig, use: (deps: PublishDeps) => Promise<Output>) =>
  withKafka(context, config, async ({ kafka }) => {
    const producer = kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    try {
      return await use({ producer, topicPrefix: config.TOPIC_PREFIX });
    } finally {
      // The key works even if the connection does not close, so its token must be printed.
      await closeWithin(producer.disconnect());
    }
  });

const nameShownMax = 60;

type ArchiveOptions = Json & { id: string; yes?: Flag; dryRun?: Flag };

function archive(context: Context, options: ArchiveOptions): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const { id, yes, dryRun } = options;
    const config = configs.kafka(context.environment);
    const key = await readArchivable(deps, id);
    const answer = (archivedAt: string | null, text: string, exitCode: 0 | 1 = 0): Output => {
      const value = { id, orgId: key.orgId, archivedAt };
      return output(options, value, lines([`${id} of ${key.orgId} ${text}`]), exitCode);
    };
    if (key.state.archivedAt) {
      const since = key.state.archivedAt.toISOString();
      return answer(since, `is archived since ${since}`);
    }
    if (dryRun) return answer(null, 'would be archived. Dry run: nothing was changed');
    // A name of a thousand characters could otherwise push the organization off the screen, or imitate another one.
    const name = JSON.stringify(key.state.name.slice(0, nameShownMax));
    const question = `Archive the key ${id} of ${JSON.stringify(key.orgId)}, named ${name}, for good?`;
    if (!yes && !(await confirmOrThrow(context.terminal, 'archive', question)))
      return answer(null, 'was not archived', 1);
    return withProducer(context, config, async (publish) => {
      const archivedAt = await archiveKey({ ...publish, ...deps }, key);
      const effect = 'every replica refuses it within 6 seconds after a projector has applied the event';
      return answer(archivedAt, `is archived; ${effect}`);
    });
  });
}

function list(context: Context, options: Json & { org?: string | undefined }): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const keys = await listKeys(deps, options.org);
    if (await areBlocksLost(deps.control))
      deps.report(
        'the collection blocked_keys is lost: the API refuses every key, and the list lacks the blocks',
      );
    return output(options, keys, lines(keys.map(renderKey)) || 'no keys\n');
  });
}

function block(context: Context, { id, why }: { id: string; why: string }): Promise<Output> {
  return withReadModel(context, async (deps) => {
    const stored = await blockKey(deps, id, { by: deps.by, why });
    const text = `${stored._id} of ${stored.orgId} is ${blockText(stored)}; every replica refuses it within 6 seconds`;
    return { text: lines([text]), exitCode: 0 };
  });
}

function unblock(context: Context, { id }: { id: string }): Promise<Output> {
  return withReadModel(context, async (deps) => {
    await unblockKey(deps, id);
    return { text: lines([`${id} is no longer blocked`]), exitCode: 0 };
  });
}

const blockText = ({ at, by, why }: { at: Date | string; by: string; why: string }) =>
  `blocked since ${new Date(at).toISOString()} by ${by} (${why})`;

function renderKey(key: ListedKey): string {
  const states: string[] = [];
  if (key.name === null) states.push('not in the served generation');
  if (key.archivedAt) states.push(`archived since ${key.archivedAt}`);
  if (key.blocked) states.push(blockText(key.blocked));
  if (key.isTokenShared) states.push('its token is refused, because another key has or had it: see status');
  const columns = [
    inOneColumn(key.id),
    inOneColumn(key.orgId),
    key.mode ?? '-',
    states.join(', ') || 'active',
    key.rateLimit === null ? 'default limit' : `limit ${digits(key.rateLimit)}`,
    key.name === null ? '' : inOneColumn(key.name),
  ];
  return columns.join('  ');
}
