import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import { readAcceptableLosses } from '../../services/operations/accept/lost-collections.ts';
import { generationsOf } from '../../shared/control/generations.ts';
import { addToManifest, changeRegistry } from '../../shared/control/registry.ts';
import { startApi } from '../api/test-api.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const token = 'svc_live_lost0123456789';
const tokenSha256 = createHash('sha256').update(token).digest('hex');

/** The way a collection is lost. `restored` means that another collection has its name and the same documents. */
type Loss = 'dropped' | 'renamed' | 'restored' | 'emptied';

type Case = {
  collection: string;
  loss: Loss;
  /** The status of a request. */
  api: number;
  /** Part of the refusal of a start; null if projectors start. */
  start: string | null;
  /** Part of the first lines of `status`. */
  status: string;
  /** Part of the output of `verify`. */
  verify: string;
  /** The way the loss ends. The operator puts the collection back or accepts the loss, or a projector starts. */
  end: 'put back' | 'accept' | 'put back and accept' | 'start';
};

const isGone = (name: string) => `${name} is gone`;
const isOther = (name: string) => `${name} is another collection`;
const refused = { start: 'collections are lost', verify: 'collections are lost' };

/** The losses that a read model may meet, how an operator sees each of them, and how it ends. */
const cases: Case[] = [
  {
    collection: 'tickets',
    loss: 'dropped',
    api: 503,
    ...refused,
    status: isGone('tickets'),
    end: 'put back and accept',
  },
  {
    collection: 'tickets',
    loss: 'renamed',
    api: 503,
    ...refused,
    status: isGone('tickets'),
    end: 'put back',
  },
  {
    collection: 'tickets',
    loss: 'restored',
    api: 503,
    ...refused,
    status: isOther('tickets'),
    end: 'accept',
  },
  {
    collection: 'tickets',
    loss: 'emptied',
    api: 404,
    start: null,
    status: '',
    verify: 'has no ticket',
    end: 'put back',
  },
  {
    collection: 'apiKeys',
    loss: 'dropped',
    api: 503,
    ...refused,
    status: isGone('apiKeys'),
    end: 'put back and accept',
  },
  ...(['progress', 'log_gaps', 'dead_letters', 'blocked_keys'] as const).map((collection): Case => {
    const api = collection === 'blocked_keys' ? 503 : 200;
    const end = collection === 'progress' ? 'put back and accept' : 'accept';
    const outputs = { start: 'collections are lost', status: isGone(collection), verify: '' };
    return { collection, loss: 'dropped', api, ...outputs, end };
  }),
  {
    collection: 'progress',
    loss: 'emptied',
    api: 200,
    start: 'the progress of generation 1 is lost',
    status: 'its progress is lost',
    verify: '',
    end: 'put back',
  },
  {
    collection: 'generations',
    loss: 'dropped',
    api: 503,
    start: 'the registry of generations is lost, but a read model is left: progress, watermarks',
    status: 'the registry of generations is lost',
    verify: 'the registry of generations is lost',
    end: 'put back and accept',
  },
  {
    collection: 'generations',
    loss: 'restored',
    api: 503,
    ...refused,
    verify: '',
    status: isOther('generations'),
    end: 'accept',
  },
  {
    collection: 'watermarks',
    loss: 'dropped',
    api: 503,
    start: null,
    status: 'its watermark is lost',
    verify: '',
    end: 'start',
  },
];

describe('a lost collection', () => {
  const projector = useProjector({ projectors: 0 });
  const { environment, cli, publish } = projector;
  const databaseOf = (name: string): Db =>
    ['tickets', 'apiKeys'].includes(name) ? environment.database : environment.control;
  const startAndStop = async () => (await projector.start({ settings: { GENERATION: 1 } })).stop();
  /** The status of a request to a replica that starts now. */
  const requestStatus = async () => {
    const api = await startApi({ client: environment.mongo, name: environment.name });
    return (await api.get('/v1/tickets/ti_1', { token }).finally(api.close)).status;
  };

  beforeAll(async () => {
    await publish(created('apiKey', 'key_1', { tokenSha256 }), created('ticket', 'ti_1'));
    const first = await projector.start({ settings: { GENERATION: 1 } });
    await projector.applied();
    await eventually(async () => (await requestStatus()) === 200);
    await first.stop();
  });

  /** Lets a collection be lost. Returns the function that puts it back. */
  async function lose(name: string, loss: Loss): Promise<() => Promise<unknown>> {
    const collection = databaseOf(name).collection(name);
    const documents = await collection.find().toArray();
    const putBack = async () => {
      if (documents.length > 0) await collection.insertMany(documents);
    };
    if (loss === 'renamed') {
      await collection.rename(`${name}_old`);
      return () => databaseOf(name).collection(`${name}_old`).rename(name);
    }
    if (loss === 'emptied') await collection.deleteMany({});
    else await collection.drop();
    if (loss === 'restored') await putBack();
    return putBack;
  }

  test('a collection stays lost that is created again while an operator accepts its loss', async () => {
    const putBack = await lose('tickets', 'restored');
    const { control, mongo, config } = environment;
    const { apply } = await readAcceptableLosses({ control, mongo, config }, 1);
    // A projector that still runs creates the collection by a write.
    await environment.database.collection('tickets').drop();
    await environment.database.createCollection('tickets');
    await apply?.();
    expect((await cli('status')).text).toContain(isOther('tickets'));
    await putBack();
    expect((await cli('accept', 'lost', '1', '--why', 'tests')).code).toBe(0);
    await startAndStop();
  });

  test('a collection that a projector adds while an operator accepts another loss stays listed', async () => {
    await lose('tickets', 'restored');
    const { control, mongo, config } = environment;
    const { apply } = await readAcceptableLosses({ control, mongo, config }, 1);
    // A projector of a release with another kind lists its collection.
    await changeRegistry(control, addToManifest(1, { polls: 'its id' }));
    await apply?.();
    // A loss of only that collection is found.
    const { text } = await cli('status');
    expect(text).toContain(isGone('polls'));
    expect(text).not.toContain(isOther('tickets'));
    await generationsOf(control).updateOne({}, { $unset: { 'generations.0.manifest.polls': 1 } });
    await startAndStop();
  });

  test.each(cases)(
    'the services stop serving $collection once it is $loss, until an operator corrects it',
    async (lost) => {
      const putBack = await lose(lost.collection, lost.loss);
      expect(await requestStatus()).toBe(lost.api);
      if (lost.start !== null) await expect(startAndStop()).rejects.toThrow(lost.start);
      expect((await cli('status')).text).toContain(lost.status);
      const verified = await cli('verify');
      expect(verified.text + verified.errors).toContain(lost.verify);
      expect(await requestStatus()).toBe(lost.api);
      // A dry run changes nothing, and the command never accepts the loss of documents.
      const accept = (...options: string[]) => cli('accept', 'lost', '1', '--why', 'tests', ...options);
      if (lost.end === 'put back and accept') expect((await accept()).code).toBe(1);
      if (lost.end.startsWith('put back')) await putBack();
      if (lost.end.endsWith('accept')) {
        expect((await accept('--dry-run')).text).toContain('would be accepted');
        const accepted = await accept();
        expect({ code: accepted.code, text: accepted.text + accepted.errors }).toMatchObject({ code: 0 });
        expect((await cli('rebuild', 'history')).text).toContain('tests; accepted lost: ');
      }
      await startAndStop();
      await eventually(async () => (await requestStatus()) === 200);
      expect((await cli('status')).text).not.toContain('lost');
    },
  );
});
