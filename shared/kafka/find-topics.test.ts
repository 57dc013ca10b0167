import { classify } from './errors.ts';
import { findTopics } from './find-topics.ts';

test('no topic counts as missing if no broker is alive to answer', async () => {
  const cluster = {
    refreshMetadata: () => Promise.resolve(),
    getNodeIds: () => [],
    findBroker: () => Promise.reject(new Error('no such broker')),
  };
  const failure: unknown = await findTopics(cluster, ['t']).catch((thrown: unknown) => thrown);
  expect(String(failure)).toContain('the brokers report no live broker');
  expect(classify(failure).errorClass).toBe('transient');
});
