import { z } from 'zod';
import { readConfig } from './config.ts';

const settings = {
  KAFKA_BROKERS: z.string(),
  LATENESS_ALLOWANCE_SECONDS: z.coerce.number().default(5),
};
const complete = { KAFKA_BROKERS: 'kafka:9092' };

describe('a variable that is not a setting', () => {
  it.each([
    ['LATENESS_ALLOWANCE_SECOND', 'LATENESS_ALLOWANCE_SECONDS'],
    ['LATENES_ALLOWANCE_SECONDS', 'LATENESS_ALLOWANCE_SECONDS'],
    ['KAFKA_BROKER', 'KAFKA_BROKERS'],
  ])('is reported if its name nearly matches a setting: %s', (name, near) => {
    expect(readConfig(settings, { ...complete, [name]: '7' })).toMatchObject({
      config: { LATENESS_ALLOWANCE_SECONDS: 5 },
      warnings: [`${name} is not a setting; did you mean ${near}?`],
    });
  });

  it('is reported together with the missing setting', () => {
    expect(readConfig(settings, { KAFKA_BROKER: 'kafka:9092' })).toEqual({
      errors: ['KAFKA_BROKERS is not set', 'KAFKA_BROKER is not a setting; did you mean KAFKA_BROKERS?'],
    });
  });

  it('is ignored if its name matches no setting', () => {
    const others = { KAFKA_HEAP_OPTS: '-Xmx1g', PATH: '/bin', BROKERS: 'x', LATENESS: '1' };
    expect(readConfig(settings, { ...complete, ...others })).toMatchObject({ warnings: [] });
  });
});
