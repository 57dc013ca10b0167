import { processesOf } from '../../shared/control/processes.ts';
import { createAnsweringProxy } from '../support/answering-proxy.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';

const { environment, start, publish, cli } = useProjector({ projectors: 0, each: true });

test.each([
  [121, 'Document failed validation', /a validator of the collection refuses/i],
  [13, 'not authorized to execute command', /needs its rights on <DATABASE_NAME>/],
])('status names why MongoDB refuses the progress of a projector: code %i', async (code, errmsg, fix) => {
  const proxy = createAnsweringProxy(environment.config.MONGODB_URL);
  const MONGODB_URL = proxiedUrl(await proxy.listen(), 'serverSelectionTimeoutMS=60000');
  await publish(created('tag', 'tag_1'));
  const projector = await start({ settings: { MONGODB_URL }, refusalLimitMs: 1_000 });
  // The projector has tried to write progress at its start; from here on, the proxy refuses progress.
  proxy.state.answer = ({ name }) => (name === 'update progress' ? { code, errmsg } : null);
  await eventually(() => projector.fatal.length > 0);
  // A projector announces the reason for its end.
  await eventually(
    async () => (await processesOf(environment.control).countDocuments({ state: 'ended' })) > 0,
  );
  const { text } = await cli('status');
  expect(text).not.toContain('no projector has run');
  expect(text).toMatch(/its projectors ended at \S+: /);
  expect(text).toMatch(fix);
  proxy.state.answer = () => null;
  await projector.stop();
  await proxy.close();
});
