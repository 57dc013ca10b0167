import { KafkaJSConnectionError } from 'kafkajs';
import { waitUntil } from './wait-until.ts';

it('a start whose error is no outage tries again, since projectors that start together may collide', async () => {
  const waits: string[] = [];
  let attempts = 0;
  const started = waitUntil(
    (condition, reason) => waits.push(`${condition}: ${reason}`),
    async () => {
      attempts += 1;
      if (attempts === 1) throw new Error('the index exists');
      return 'started';
    },
  );
  expect(await started).toBe('started');
  expect(waits).toEqual(['refused; trying again: the index exists']);
});

it('a start whose certificate is refused waits for a minute, then says what to do', async () => {
  const waits: string[] = [];
  let readings = 0;
  const refused = () =>
    Promise.reject(
      new KafkaJSConnectionError('self-signed certificate', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
    );
  const started = waitUntil(
    (condition, reason) => waits.push(`${condition}: ${reason}`),
    refused,
    // Half a minute passes with each reading.
    () => (readings += 1) * 30_000,
  );
  await expect(started).rejects.toThrow(/^self-signed certificate\. Check KAFKA_TLS_CA/);
  expect(waits).toEqual([
    expect.stringMatching(/^the brokers are unavailable: self-signed certificate\. Check KAFKA_TLS_CA/),
  ]);
});
