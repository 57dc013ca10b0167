import { processesOf } from '../../shared/control/processes.ts';
import { openConsole, textOf } from '../console/test-console.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { useFaultServers } from './use-fault-servers.ts';

/** The number of lines that an operator reads at three in the morning. */
const firstLines = 12;

/** The verdict of the console's overview, with the first card. */
const headOf = (page: string): string =>
  textOf(/<div id="verdict".*?(<\/li>|<div id="load")/s.exec(page)?.[0] ?? page);

describe('the beginning of status and of the console shows the cause and the fix', () => {
  const faults = useFaultServers();
  const { environment, applied, start, publish, topic } = faults;

  const tags = (from: number) =>
    Array.from({ length: 20 }, (_, index) => created('tag', `tag_${from + index}`));
  /** Starts a projector that applies 20 tags, and announces an API replica. */
  const startSystem = async () => {
    const projector = start();
    await publish(tags(0));
    await applied();
    const at = new Date(Date.now() + 3_600_000);
    await processesOf(environment.control).insertOne({
      _id: 'replica',
      role: 'api',
      state: 'running',
      reason: null,
      host: 'api-1',
      pid: 1,
      release: '1',
      generation: 1,
      inProgress: [],
      versions: [1],
      at,
    });
    return projector;
  };
  const headOfStatus = async () =>
    (await faults.cli('status')).text.split('\n').slice(0, firstLines).join('\n');
  /** Waits until both the command and the console show all patterns. */
  const untilShown = async (...patterns: RegExp[]) => {
    const untilMatched = (read: () => Promise<string>) =>
      eventually(
        async () => {
          const text = await read();
          return patterns.every((pattern) => pattern.test(text)) || notYet(text);
        },
        undefined,
        { pollMs: 1_000 },
      );
    await untilMatched(headOfStatus);
    const console = await openConsole(environment.variables);
    await untilMatched(async () => headOf(await console.read('/'))).finally(console.close);
  };

  test('if a topic was created again', async () => {
    await startSystem();
    await faults.recreateTopic('tag');
    await untilShown(/tags(\/0)?: .*deleted and created again.* rebuild/, / npx support-cli rebuild start\s/);
  });

  test('if the log was truncated', async () => {
    const projector = await startSystem();
    projector.child.kill('SIGSTOP');
    // A fetch may be in progress, and a broker may answer it at any moment. The answer has at most 4 MiB, and so it
    // cannot carry all these records: the projector always lacks some of them.
    const value = 'x'.repeat(900_000);
    for (let count = 0; count < 6; count += 1)
      await faults.send('tag', { key: 'tag_0', value, partition: 0 });
    const logEnd = -1;
    await faults.deleteRecords('tag', logEnd);
    projector.child.kill('SIGCONT');
    await untilShown(
      /its log has a gap: ?\S+tags\/0: the records from offset \d+ to \d+ are gone .* rebuild the read model, or accept the gap/,
      / npx support-cli rebuild start\s/,
    );
  });

  test('if a topic was deleted', async () => {
    await startSystem();
    await environment.admin.deleteTopics({ topics: [topic('tag')] });
    await untilShown(
      /topics are gone, and their applied records with them: \S+tags/,
      /Do not create them again: restore them from a backup of Kafka/,
    );
  });

  test('if no projector runs after an operator has restored MongoDB from a backup', async () => {
    const projector = await startSystem();
    const { mongo, name } = environment;
    // docs/recover.md requires this order: the control database first.
    const databases = [mongo.db(name), mongo.db(`${name}_g1`)];
    const backup = await Promise.all(
      databases.map(async (database) => {
        const collections = await database.collections();
        return Promise.all(
          collections.map(async (collection) => ({
            collection,
            documents: await collection.find().toArray(),
          })),
        );
      }),
    );
    await publish(tags(20));
    await applied();
    await projector.stop('SIGKILL');
    for (const { collection, documents } of backup.flat()) {
      await collection.deleteMany({});
      if (documents.length > 0) await collection.insertMany(documents);
    }
    // The fix is a start of projectors, which continue from the restored positions. No rebuild is needed.
    await untilShown(
      /generation 1: no projector has run (since \S+Z|for \d+ s)/,
      / GENERATION=1 npm run projector\s/,
    );
    start();
    await untilShown(/(All is well|The data is current)/);
    await faults.expectConverged();
  });
});
