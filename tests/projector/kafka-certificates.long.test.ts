import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../../infra/certificate.ts';
import { created } from '../support/entities.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { fatalError } from '../support/fatal-error.ts';
import { type SecureKafka, startSecureKafka } from '../support/secure-kafka.ts';
import { useProjector } from '../support/use-projector.ts';

let folder = '';
let broker: SecureKafka;
const file = (name: string) => join(folder, name);

/** Gives the broker a certificate of a new authority, from its next start on. Returns the authority's certificate. */
async function renewAuthority(): Promise<string> {
  const authority = await createAuthority();
  const { cert, key } = await authority.issue();
  writeFileSync(file('broker.pem'), `${key}\n${cert}\n`);
  return authority.cert;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kafka-certificates-'));
  writeFileSync(file('ca.crt'), await renewAuthority());
  broker = await startSecureKafka(folder, file('broker.pem'), 'SSL');
});
afterAll(async () => {
  await broker.stop();
  rmSync(folder, { recursive: true });
});

describe('after a change of the authority of the broker', () => {
  const projector = useProjector({
    projectors: 0,
    servers: () => ({ ...process.env, KAFKA_BROKERS: broker.plain }),
  });
  const secure = () => ({ KAFKA_BROKERS: broker.secure, KAFKA_SSL: 'true' });
  const status = async () => (await projector.cli('status')).text.replaceAll(/\s+/g, ' ');
  const untilStatus = (pattern: RegExp) =>
    eventually(async () => pattern.test(await status()) || notYet(await status()), undefined, {
      pollMs: 1_000,
    });

  test('a projector continues if its file of authorities was renewed before', async () => {
    const first = await renewAuthority();
    writeFileSync(file('ca.crt'), first);
    await broker.restart();
    const service = projector.startProcess({ ...secure(), KAFKA_TLS_CA_FILE: file('ca.crt') });
    await projector.publish(created('tag', 'tag_1'));
    await projector.applied();
    // Both authorities, as Strimzi and cert-manager write them.
    writeFileSync(file('ca.crt'), `${first}\n${await renewAuthority()}`);
    await broker.restart();
    await projector.publish(created('tag', 'tag_2'));
    await projector.applied();
    expect(service.failures()).toEqual([]);
    await service.stop();
  });

  test('a projector with the old authority in its environment ends with the reason', async () => {
    const KAFKA_TLS_CA = await renewAuthority();
    await broker.restart();
    // Runs in its own process, because kafkajs never stops its attempts to connect.
    const running = projector.startProcess({ ...secure(), KAFKA_TLS_CA });
    await projector.publish(created('tag', 'tag_3'));
    await projector.applied();
    await renewAuthority();
    await broker.restart();
    await untilStatus(
      /its projectors run, but are cut off from Kafka since \S+: process \d+ on \S+: .*certificate.* Check KAFKA_TLS_CA/,
    );
    // A minute after the first refusal.
    expect(await running.exited).toBe(1);
    expect(fatalError(running)).toMatchObject({
      type: 'Refused',
      message: expect.stringMatching(/certificate.*\. Check KAFKA_TLS_CA/) as string,
    });
    await untilStatus(/its projectors ended at \S+: .*certificate.* Check KAFKA_TLS_CA/);
    const next = projector.startProcess({ ...secure(), KAFKA_TLS_CA });
    await untilStatus(
      /a projector cannot start: process \d+ on \S+: the brokers are unavailable: .*certificate/,
    );
    await next.stop('SIGKILL');
  });
});
