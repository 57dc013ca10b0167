import { createHash } from 'node:crypto';
import { readRegistry } from '../../shared/control/generations.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { startApi, type TestApi, tokens } from '../api/test-api.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { observed } from '../support/observed.ts';
import { untilStable } from '../support/progress.ts';
import { useProjector } from '../support/use-projector.ts';

const key = created('apiKey', 'key_1', { tokenSha256: createHash('sha256').update(tokens.a).digest('hex') });

/**
 * Other producers publish after the open transaction, in the same partition. No consumer of committed records can read
 * their records yet.
 */
describe('while a transaction is open', () => {
  let api: TestApi | null = null;
  afterEach(() => api?.close());
  const { environment, publish, send, applied, start, topic, connectProducer, cli } = useProjector({
    each: true,
    projectors: 0,
  });
  const settings = { LATENESS_ALLOWANCE_SECONDS: 0 };

  const beginTransaction = async (ticketId: string) => {
    const producer = await connectProducer({ transactionalId: environment.name });
    const transaction = await producer.transaction();
    const message = encode(created('ticket', ticketId), 'structured');
    const sent = await transaction.send({ topic: topic('ticket'), messages: [message] });
    const commit = async () => {
      await transaction.commit();
      await untilStable(environment.admin, sent);
    };
    return { commit };
  };
  const startedApi = () => {
    if (api === null) throw new Error('the test has not started the API yet');
    return api;
  };
  const list = async (query = '') => {
    const answer = await startedApi().get(`/v1/tickets${query}`);
    const { data } = answer.json() as { data: { id: string }[] };
    return { ids: data.map(({ id }) => id).sort(), asOf: new Date(answer.headers.get('data-as-of') ?? '') };
  };
  const progress = () => progressOf(environment.control).findOne({ topic: topic('ticket') });

  test('an export from Data-As-Of later finds the records that the transaction hides', async () => {
    await publish(key, created('ticket', 'ti_1'));
    const projector = await start({ settings });
    await applied();
    api = await startApi({ client: environment.mongo, name: environment.name });

    const { commit } = await beginTransaction('ti_open');
    const changedAt = new Date();
    await send(
      'ticket',
      encode(created('ticket', 'ti_behind', { updatedAt: changedAt.toISOString() }), 'binary'),
    );
    await observed(environment.control);
    const first = await list();
    expect(first.ids).toEqual(['ti_1']);
    expect(first.asOf.getTime()).toBeLessThan(changedAt.getTime());
    const saved = await progress();
    expect(saved).toMatchObject({ applied: { position: 1 }, end: 3, saved: { cause: 'open_transaction' } });
    expect(saved?.saved?.waitingSince?.getTime()).toBeGreaterThan(first.asOf.getTime());
    const lags = (await projector.metrics.lag.get()).values.filter(({ value }) => value > 0);
    expect(lags).toMatchObject([{ labels: { topic: topic('ticket'), partition: 0 }, value: 2 }]);

    await commit();
    await applied();
    expect((await list(`?updatedAt[gte]=${first.asOf.toISOString()}`)).ids).toContain('ti_behind');
    expect((await list()).ids).toEqual(['ti_1', 'ti_behind', 'ti_open']);
    await observed(environment.control);
    expect(await progress()).toMatchObject({
      applied: { position: 4 },
      end: 4,
      saved: { waitingSince: null },
    });
  });

  test('a build is not ready, and `rebuild await` names the open transaction', async () => {
    await publish(key, created('ticket', 'ti_1'));
    await start({ settings });
    await applied();
    const { commit } = await beginTransaction('ti_open');
    expect(await cli('rebuild', 'start', '--why', 'test')).toMatchObject({ code: 0 });
    await start({ settings: { ...settings, GENERATION: 2 } });
    const state = async () => {
      const registry = await readRegistry(environment.control);
      return registry?.generations.find(({ number }) => number === 2)?.state;
    };
    await eventually(async () => (await state()) === 'catching-up');
    await observed(environment.control, 2);
    const waited = await cli('rebuild', 'await', '2', '--timeout', '1');
    expect(waited.code).toBe(1);
    expect(waited.text + waited.errors).toMatch(
      /tickets\/0: 1 record to apply, a transaction of a producer is open, .* since \d{4}-.*Z/,
    );
    expect(await state()).toBe('catching-up');
    await commit();
    await eventually(async () => (await state()) === 'ready');
  });
});
