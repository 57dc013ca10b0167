import { type Service, startService } from '../../infra/service.ts';
import { apiKey, apiSettings, get } from '../support/api-process.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { describeOnMongo } from '../support/mongo-servers.ts';
import { password, startMongoWithUsers } from '../support/mongo-with-users.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

const user = 'service';
const roles = ['readWriteAnyDatabase', 'dbAdminAnyDatabase', 'clusterMonitor'];

/** The tests on the stand-in use a proxy that refuses. Here MongoDB itself refuses, with its real errors. */
describeOnMongo(['mongod'], 'a MongoDB that refuses a user or a command', () => {
  const mongo = useOpened(() => startMongoWithUsers(['--setParameter', 'enableTestCommands=1']));
  const createUser = () =>
    mongo.asAdmin((admin) => admin.command({ createUser: user, pwd: password, roles }));

  // A `describe` of its own, so that its services end before MongoDB.
  describe('with services', () => {
    const projector = useProjector({
      projectors: 0,
      servers: () => ({ ...process.env, MONGODB_URL: mongo.adminUrl }),
    });
    const running = useOpened(async () => {
      await createUser();
      const MONGODB_URL = mongo.urlOf(user);
      await projector.publish(apiKey, created('contact', 'con_1'), created('ticket', 'ti_1'));
      const process = projector.startProcess({ MONGODB_URL });
      await projector.applied();
      const settings = apiSettings({ ...projector.environment.variables, MONGODB_URL });
      const api = startService('api', { ...settings, RATE_LIMIT_REQUESTS: '0' });
      await api.logged('serving generation');
      return { process, api, close: () => api.stop('SIGKILL') };
    });

    const statusOf = async (path: string) => (await get(running.api, path)).status;
    const isOpenedAgain = ({ log }: Service) => log.some(({ msg }) => String(msg).includes('opened again'));

    test('the services connect again after their user was dropped and created again', async () => {
      expect(await statusOf('/v1/tickets/ti_1')).toBe(200);
      // when an administrator drops the user and creates it again
      await mongo.asAdmin((admin) => admin.command({ dropUser: user }));
      await createUser();
      await projector.publish(created('tag', 'tag_1'));
      // then the API answers again, and has sent nothing but 200 and 503 in the meantime
      const statuses = new Set<number>();
      await eventually(async () => {
        const status = await statusOf('/v1/tickets/ti_1');
        statuses.add(status);
        return (status === 200 && isOpenedAgain(running.api)) || notYet([...statuses]);
      });
      expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
      await projector.applied();
      expect(await projector.find('tag', 'tag_1')).not.toBeNull();
      expect(isOpenedAgain(running.process)).toBe(true);
      expect(projector.fatal()).toEqual([]);
    });

    /** Lets MongoDB refuse the next `times` reads of tickets; with 0, MongoDB answers all of them again. */
    const refuseTickets = (times: number, data: object = {}) =>
      mongo.asAdmin((admin) =>
        admin.command({
          configureFailPoint: 'failCommand',
          mode: times === 0 ? 'off' : { times },
          data: {
            failCommands: ['find'],
            namespace: `${projector.environment.database.databaseName}.tickets`,
            ...data,
          },
        }),
      );
    afterEach(() => refuseTickets(0));

    test.each([
      ['Interrupted', { errorCode: 11_601 }],
      ['LockTimeout', { errorCode: 24 }],
      ['WriteConflict', { errorCode: 112 }],
      ['SnapshotUnavailable', { errorCode: 246 }],
      ['ClientDisconnect', { errorCode: 279 }],
      ['Unauthorized', { errorCode: 13 }],
      ['an overload', { errorCode: 462, errorLabels: ['SystemOverloadedError', 'RetryableError'] }],
      ['a connection that is closed', { closeConnection: true }],
    ])('the API answers a read that MongoDB refuses twice with %s', async (_, data) => {
      await refuseTickets(2, data);
      expect(await statusOf('/v1/tickets')).toBe(200);
    });

    test('the API answers a read that MongoDB keeps refusing with 503 and Retry-After', async () => {
      await refuseTickets(1_000, { errorCode: 11_601 });
      const { status, headers } = await get(running.api, '/v1/tickets');
      expect({ status, retryAfter: headers.get('retry-after') }).toEqual({ status: 503, retryAfter: '5' });
    });
  });
});
