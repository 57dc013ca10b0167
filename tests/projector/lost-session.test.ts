import { type Service, startService } from '../../infra/service.ts';
import { createAnsweringProxy } from '../support/answering-proxy.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useOpened } from '../support/use-opened.ts';
import { useProjector } from '../support/use-projector.ts';

const needsRights = /^(?:find|aggregate|update|insert|delete|count|distinct|getMore|listDatabases) /;

const openedAgain =
  'MongoDB refuses the user on old connections, but not on a new one; the pool is opened again';

describe('after MongoDB has lost the sessions of a user', () => {
  const { environment, publish, applied, find, startProcess } = useProjector({ projectors: 0 });
  const services: Service[] = [];
  const proxied = useOpened(async () => {
    const proxy = createAnsweringProxy(environment.config.MONGODB_URL);
    // Sixty seconds, because the first connection can exceed the default on a slow machine.
    const MONGODB_URL = proxiedUrl(await proxy.listen(), 'serverSelectionTimeoutMS=60000');
    const settings = { ...environment.variables, MONGODB_URL };
    const close = async () => {
      await Promise.all(services.map((service) => service.stop('SIGKILL')));
      await proxy.close();
    };
    /** Takes the rights of every present connection away. New connections have them. */
    const loseSessions = () => {
      const { connections } = proxy.state;
      proxy.state.answer = ({ name, connection }) =>
        needsRights.test(name) && connection <= connections
          ? { code: 13, errmsg: 'Command requires authentication' }
          : null;
    };
    const start = (name: 'console' | 'cli', more: Record<string, string>, args: string[] = []) => {
      const service = startService(name, { ...settings, ...more }, args);
      services.push(service);
      return service;
    };
    return { settings, loseSessions, start, close };
  });

  test('the projector, the console and a watching command continue without a restart', async () => {
    const { MONGODB_URL } = proxied.settings;
    const projector = startProcess({ MONGODB_URL, ADMIN_PORT: '0' });
    await publish(created('tag', 'tag_before'));
    await applied();
    const consoleService = proxied.start('console', { CONSOLE_PORT: '0', LOG_LEVEL: 'info' });
    const { url } = await consoleService.logged('listening');
    const isFresh = async () => {
      const text = await (await fetch(String(url))).text();
      return (text.includes('Read ') && !text.includes('No newer data')) || notYet(text);
    };
    await eventually(isFresh);
    const watching = proxied.start('cli', {}, ['rebuild', 'status', '--watch']);
    const printed = () => watching.stdout().split('generation 1').length;
    await eventually(
      () => printed() > 1 || notYet([watching.stdout(), watching.stderr()]),
      watching.failures,
    );
    proxied.loseSessions();
    await publish(created('tag', 'tag_after'));
    await applied();
    expect(await find('tag', 'tag_after')).not.toBeNull();
    await projector.logged(openedAgain);
    const shownBefore = printed();
    await eventually(() => printed() > shownBefore + 1);
    await consoleService.logged(openedAgain);
    await eventually(isFresh);
    expect((await fetch(`${String(url)}livez`)).status).toBe(200);
    expect([projector, consoleService, watching].flatMap((service) => service.failures())).toEqual([]);
  });
});
