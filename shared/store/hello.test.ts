import { ReadPreference } from 'mongodb';
import { storeTime } from './clock.ts';
import { explainedStoreError } from './errors.ts';

const localTime = new Date('2026-01-01T00:00:00Z');
const timeBy = (hello: object) =>
  storeTime({
    command: async () => ({ localTime, ...hello }),
    readPreference: ReadPreference.primary,
    readConcern: undefined,
    writeConcern: undefined,
  });

test('no service goes by the clock of a member that is not the primary', async () => {
  const reading = timeBy({ isWritablePrimary: false, secondary: true, me: 'mongo-2:27017' });
  const reason = await reading.then(String, explainedStoreError);
  expect(reason).toMatch(/^mongo-2:27017 is not the primary\. MongoDB elects .* directConnection=true/);
});

test.each([[{ isWritablePrimary: true }], [{}]])('the answer %j is taken', async (hello) => {
  expect(await timeBy(hello)).toEqual(localTime);
});
