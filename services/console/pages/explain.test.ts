import { idLengthMax } from '../../../shared/documents/fields.ts';
import { explainPage } from './explain.ts';

test('an id of the greatest length that a record may have is explained whole', async () => {
  const id = `tag_${'x'.repeat(idLengthMax - 4)}`;
  const page = explainPage({ render: async () => '' } as never);
  const shown = await page.fixed?.(new URLSearchParams({ id: ` ${id} ` }));
  expect(JSON.stringify(shown)).toContain(`value=\\"${id}\\"`);
});
