import { KafkaJSConnectionError } from 'kafkajs';
import { waitUntil } from './wait-until.ts';

test('a start tries again after one error that is not an outage', async () => {
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

test('a start ends after a minute of refused certificates, and names the fix', async () => {
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
    () => {
      readings += 1;
      return readings * 30_000;
    },
  );
  await expect(started).rejects.toThrow(/^self-signed certificate\. Check KAFKA_TLS_CA/);
  expect(waits).toEqual([
    expect.stringMatching(/^the brokers are unavailable: self-signed certificate\. Check KAFKA_TLS_CA/),
  ]);
});
