import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { matching } from '../support/matchers.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';

const { environment, start, publish, applied } = useProjector({ projectors: 0 });

test('a projector whose server is no longer the primary ends and names directConnection', async () => {
  const { trouble, listen, cut } = createStoreProxy(environment.config.MONGODB_URL);
  const url = proxiedUrl(await listen());
  const projector = await start({ settings: { MONGODB_URL: url }, refusalLimitMs: 1_000 });
  await publish(created('tag', 'tag_1'));
  await applied();
  trouble.isDemoted = true;
  await eventually(() => projector.fatal.length > 0);
  expect(projector.fatal[0]).toMatchObject({
    name: 'Refused',
    message: matching(/is not the primary\. .*directConnection=true/),
  });
  trouble.isDemoted = false;
  await projector.stop();
  await cut();
});
