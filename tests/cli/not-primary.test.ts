import { ensureRegistry } from '../../shared/control/generations.ts';
import { runCli } from '../support/run-cli.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(() => createTestEnvironment());

test.each(['keys list', 'status', 'check'])(
  '%s refuses the answer of a member that is not the primary',
  async (verb) => {
    await ensureRegistry(opened.control);
    const { trouble, listen, cut } = createStoreProxy(opened.config.MONGODB_URL);
    trouble.isDemoted = true;
    const MONGODB_URL = proxiedUrl(await listen());
    const { code, text, errors } = await runCli(
      { ...opened.variables, LOG_LEVEL: 'silent', MONGODB_URL },
      verb.split(' '),
    );
    expect({ code, names: /is not the primary\. .*directConnection=true/.test(text + errors) }).toEqual({
      code: 1,
      names: true,
    });
    await cut();
  },
);
