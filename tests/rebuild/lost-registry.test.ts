import { createHash } from 'node:crypto';
import { generationsOf, readRegistry } from '../../shared/control/generations.ts';
import { progressOf, watermark, watermarksOf } from '../../shared/control/progress.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { startApi } from '../api/test-api.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const token = 'svc_live_lost0123456789';
const tokenSha256 = createHash('sha256').update(token).digest('hex');

describe('a read model that loses a part of its control database', () => {
  const projector = useProjector({ projectors: 0 });
  const { environment, cli, publish } = projector;
  const start = (number: number) => projector.start({ settings: { GENERATION: number } });
  const run = async (...args: string[]) => {
    const { code, text, errors } = await cli(...args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${text} ${errors}`);
    return text;
  };
  /** The answer of a replica that starts now. */
  const served = async (path = '/v1/tickets/ti_1') => {
    const api = await startApi({ client: environment.mongo, name: environment.name });
    const { status, headers } = await api.get(path, { token }).finally(api.close);
    return { status, retryAfter: headers.get('retry-after'), asOf: headers.get('data-as-of') };
  };
  const status = () => cli('status').then(({ text }) => text);
  const everything = async () => {
    const collections = await environment.control.collections();
    const contents = await Promise.all(
      collections.map(
        async (one) => [one.collectionName, await one.find().sort({ _id: 1 }).toArray()] as const,
      ),
    );
    // Replicas announce themselves, and projectors say why they do not start, whether or not there is a registry.
    const announcements = ['replicas', 'waiting_projectors'];
    return Object.fromEntries(
      contents.filter(([name, all]) => !announcements.includes(name) && all.length > 0),
    );
  };
  /** The refusal of a projector without GENERATION, as a process; it changes nothing. */
  const refusal = async () => {
    const before = await everything();
    const service = projector.startProcess({ GENERATION: '' });
    expect(await service.exited).toBe(1);
    expect(await everything()).toEqual(before);
    const { type, message } = service.log.find(({ level }) => level === 'fatal')?.error as Record<
      string,
      string
    >;
    expect(type).toBe('StartRefused');
    return message;
  };
  /** Takes all documents of a collection away, and returns the function that puts them back. */
  const lose = async (name: string) => {
    const collection = environment.control.collection(name);
    const lost = await collection.find().toArray();
    await collection.drop();
    return async () => {
      await collection.deleteMany({});
      await collection.insertMany(lost);
    };
  };

  beforeAll(async () => {
    await publish(created('apiKey', 'key_1', { tokenSha256 }), created('ticket', 'ti_1'));
    const first = await start(1);
    await projector.applied();
    await run('rebuild', 'start', '--why', 'test');
    const second = await start(2);
    await run('rebuild', 'await', '2');
    await run('rebuild', 'compare', '2');
    await run('rebuild', 'promote', '2', '--timeout', '1');
    await first.stop();
    await second.stop();
  });

  test('its registry: no projector starts, no replica takes a key for unknown, and an operator restores it', async () => {
    expect(await served()).toMatchObject({ status: 200 });
    await lose('generations');
    const message = await refusal();
    expect(message).toMatch(
      /progress \(generation 1, 2\).* \w+_g1 \(generation 1\), \w+_g2 .*rebuild restore-registry/,
    );
    const { status: answered, retryAfter } = await served();
    expect({ status: answered, isRetryLater: Number(retryAfter) > 0 }).toEqual({
      status: 503,
      isRetryLater: true,
    });
    expect(await status()).toMatch(
      /^Not well: the registry of generations is lost.*\n.*\n.* rebuild restore-registry$/m,
    );

    const listed = await cli('rebuild', 'restore-registry');
    expect(listed.code).toBe(1);
    expect(listed.text).toMatch(
      /generation 1: documents and \d+ partitions.*\n {2}generation 2: documents and/,
    );
    const restored = ['rebuild', 'restore-registry', '--active', '2', '--why', 'dropped by mistake'];
    const before = await everything();
    expect(await run(...restored, '--dry-run')).toContain('nothing was changed');
    expect(await everything()).toEqual(before);
    expect(await run(...restored)).toContain('generation 1 is ready\ngeneration 2 is active');
    const registry = await readRegistry(environment.control);
    expect(registry).toMatchObject({ generation: 2, lastNumber: 2, hasBlocksMarker: true });
    expect((await cli(...restored)).text).toContain('there is a registry');
    expect(await run('rebuild', 'history')).toContain('the registry was lost: dropped by mistake');

    await publish(created('ticket', 'ti_2'));
    const again = await start(2);
    await eventually(async () => (await served('/v1/tickets/ti_2')).status === 200);
    await again.stop();
  });

  test('its watermarks: no replica serves it before a projector has set the watermark again', async () => {
    const before = await watermark(environment.control, 2);
    await lose('watermarks');
    expect(await served()).toMatchObject({ status: 503 });
    expect(await status()).toMatch(/^Not well: its watermark is lost/);
    const again = await start(2);
    expect(await served()).toMatchObject({ status: 200 });
    await again.stop();
    const after = await watermark(environment.control, 2);
    expect(after && before && after >= before).toBe(true);
  });

  test('its progress: no projector starts, and the replicas serve it on', async () => {
    const restore = await lose('progress');
    expect(await refusal()).toMatch(/progress of generation 2 is lost.*rebuild start/);
    expect(await served()).toMatchObject({ status: 200 });
    expect(await status()).toContain('its progress is lost');
    await restore();
    await (await start(2)).stop();
  });

  test('its blocked keys: every key gets 503 until they are restored or the loss is accepted', async () => {
    await run('keys', 'block', 'key_1', '--why', 'leaked');
    expect(await served()).toMatchObject({ status: 401 });
    const restore = await lose('blocked_keys');
    expect(await served()).toMatchObject({ status: 503 });
    expect(await status()).toMatch(/^Not well: the collection blocked_keys is lost/);
    expect((await cli('keys', 'list')).errors).toContain('blocked_keys is lost');
    await (await start(2)).stop();
    expect(await served()).toMatchObject({ status: 503 });

    await restore();
    expect(await served()).toMatchObject({ status: 401 });
    await lose('blocked_keys');
    await run('keys', 'block', 'key_1', '--why', 'leaked, again');
    expect(await served()).toMatchObject({ status: 503 });
    await run('accept', 'blocked-keys', '--why', 'key_1 is blocked again');
    expect(await served()).toMatchObject({ status: 401 });
    expect((await cli('rebuild', 'history')).text).toContain('key_1 is blocked again; accepted blocked-keys');
    await run('keys', 'unblock', 'key_1');
    expect(await served()).toMatchObject({ status: 200 });
  });

  test('its registry and its blocked keys: they are restored together only if the operator accepts the loss', async () => {
    const registry = await readRegistry(environment.control);
    await lose('generations');
    await lose('blocked_keys');
    const restored = ['rebuild', 'restore-registry', '--active', '2'];
    expect((await cli(...restored)).text).toContain('blocked_keys has no marker');
    expect(await readRegistry(environment.control)).toBeNull();
    await run(...restored, '--accept-lost-blocks');
    expect(await served()).toMatchObject({ status: 200 });
    await generationsOf(environment.control).deleteMany({});
    if (registry) await generationsOf(environment.control).insertOne(registry);
    expect(await served()).toMatchObject({ status: 200 });
  });

  test('everything but its documents', async () => {
    for (const { collectionName } of await environment.control.collections())
      await environment.control.collection(collectionName).drop();
    expect(await refusal()).toMatch(/a read model is left: \w+_g1 \(generation 1\), \w+_g2 /);
    const restored = await cli('rebuild', 'restore-registry', '--active', '2');
    expect(restored.text).toContain('generation 2 cannot be active: its progress is gone');
    expect({
      progress: await progressOf(environment.control).countDocuments(),
      watermarks: await watermarksOf(environment.control).countDocuments(),
    }).toEqual({ progress: 0, watermarks: 0 });
    for (const number of [1, 2])
      await generationDatabase(environment.mongo, environment.name, number).dropDatabase();
    await (await start(1)).stop();
    expect(await readRegistry(environment.control)).toMatchObject({ generation: 1, lastNumber: 1 });
  });
});
