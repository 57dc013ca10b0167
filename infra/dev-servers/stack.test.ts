import { fromEnvironment } from './stack.ts';

describe('addresses in the environment', () => {
  test('are used unchanged if both are set', () => {
    const attempt = fromEnvironment({ KAFKA_BROKERS: 'a:1,b:2', MONGODB_URL: 'mongodb://c' });
    expect(attempt).toMatchObject({
      stack: { kafkaBrokers: 'a:1,b:2', mongodbUrl: 'mongodb://c', how: 'environment' },
    });
  });

  test('only one of them is an error that names the other', () => {
    expect(() => fromEnvironment({ KAFKA_BROKERS: 'a:1' })).toThrow('MONGODB_URL is not');
    expect(() => fromEnvironment({ MONGODB_URL: 'mongodb://c' })).toThrow('KAFKA_BROKERS is not');
  });

  test('none, or empty ones, leave the choice to the next provider', () => {
    expect(fromEnvironment({})).toHaveProperty('unavailable');
    expect(fromEnvironment({ KAFKA_BROKERS: '', MONGODB_URL: '' })).toHaveProperty('unavailable');
  });
});
