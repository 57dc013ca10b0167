import { z } from 'zod';
import { readConfig } from './config.ts';

const settings = {
  KAFKA_BROKERS: z.string(),
  LATENESS_ALLOWANCE_SECONDS: z.coerce.number().default(5),
};
const complete = { KAFKA_BROKERS: 'kafka:9092' };

describe('a variable that is no setting', () => {
  it.each([
    ['LATENESS_ALLOWANCE_SECOND', 'LATENESS_ALLOWANCE_SECONDS'],
    ['LATENES_ALLOWANCE_SECONDS', 'LATENESS_ALLOWANCE_SECONDS'],
    ['KAFKA_BROKER', 'KAFKA_BROKERS'],
  ])('is reported where it is nearly one: %s', (name, near) => {
    expect(readConfig(settings, { ...complete, [name]: '7' })).toMatchObject({
      config: { LATENESS_ALLOWANCE_SECONDS: 5 },
      warnings: [`${name} is no setting; did you mean ${near}?`],
    });
  });

  it('is reported beside the setting that is missing for it', () => {
    expect(readConfig(settings, { KAFKA_BROKER: 'kafka:9092' })).toEqual({
      faults: ['KAFKA_BROKERS is not set', 'KAFKA_BROKER is no setting; did you mean KAFKA_BROKERS?'],
    });
  });

  it('is left alone where it belongs to something else', () => {
    const others = { KAFKA_HEAP_OPTS: '-Xmx1g', PATH: '/bin', BROKERS: 'x', LATENESS: '1' };
    expect(readConfig(settings, { ...complete, ...others })).toMatchObject({ warnings: [] });
  });
});
