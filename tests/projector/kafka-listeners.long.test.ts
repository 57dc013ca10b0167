import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSelfSigned } from '../../infra/certificate.ts';
import { fatalError } from '../support/fatal-error.ts';
import { onceKafkaAnswers, runCli } from '../support/run-cli.ts';
import {
  guardedUser,
  type SecureKafka,
  startGuardedKafka,
  startSecureKafka,
} from '../support/secure-kafka.ts';
import { useProjector } from '../support/use-projector.ts';

const folders: string[] = [];
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), 'kafka-listeners-'));
  folders.push(made);
  return made;
};
const certificate = join(folder(), 'broker');
/** A broker whose second listener takes TLS. */
let tls: SecureKafka;
/** A broker whose second listener takes a user, without TLS. */
let guarded: SecureKafka;

beforeAll(async () => {
  const { cert, key } = await createSelfSigned();
  writeFileSync(`${certificate}.pem`, `${key}\n${cert}\n`);
  writeFileSync(`${certificate}.crt`, cert);
  tls = await startSecureKafka(folder(), `${certificate}.pem`, 'SSL');
  guarded = await startGuardedKafka(folder());
});
afterAll(async () => {
  await Promise.all([tls.stop(), guarded.stop()]);
  for (const made of folders) rmSync(made, { recursive: true });
});

describe('a listener with another protocol than the settings', () => {
  const projector = useProjector({
    projectors: 0,
    servers: () => ({ ...process.env, KAFKA_BROKERS: tls.plain }),
  });
  const overTls = () => ({ KAFKA_SSL: 'true', KAFKA_TLS_CA_FILE: `${certificate}.crt` });

  test.concurrent.each<[string, () => Record<string, string>, RegExp]>([
    ['a plain client at a listener with TLS', () => ({ KAFKA_BROKERS: tls.secure }), /closes them/],
    [
      'a client with TLS at a plain listener',
      () => ({ KAFKA_BROKERS: tls.plain, ...overTls() }),
      /closes them/,
    ],
    [
      'a client without a user at a listener for users',
      () => ({ KAFKA_BROKERS: guarded.secure }),
      /closes them/,
    ],
    [
      'a client with a user at a listener without users',
      () => ({ KAFKA_BROKERS: guarded.plain, ...guardedUser }),
      /SASL/,
    ],
    [
      'a client with a user at a listener with TLS',
      () => ({ KAFKA_BROKERS: tls.secure, ...guardedUser }),
      /closes them/,
    ],
  ])('ends the start with an error that names both settings: %s', async (_, settings, reason) => {
    const changes = settings();
    const environment = { ...projector.environment.variables, ...changes };
    const refused = projector.startProcess(changes);
    const [check, status] = await Promise.all([
      runCli(environment, ['check', 'projector']),
      onceKafkaAnswers(() => runCli(environment, ['status'])),
    ]);
    for (const { text, errors } of [check, status]) {
      expect(errors).toBe('');
      expect(text).toMatch(reason);
      expect(text).toMatch(/KAFKA_SSL/);
      expect(text).toMatch(/KAFKA_SASL_MECHANISM/);
      expect(text).not.toContain('If the brokers are down');
    }
    expect(await refused.exited).toBe(1);
    expect(fatalError(refused)).toMatchObject({
      type: 'StartRefused',
      message: expect.stringMatching(reason) as string,
    });
  });
});
