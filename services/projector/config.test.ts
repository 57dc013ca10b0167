import { groupIdOf } from '../../shared/control/generations.ts';
import { projectorConfig } from './config.ts';

const group = (settings: Record<string, string>, generation: number) => {
  const servers = { KAFKA_BROKERS: 'kafka:9092', MONGODB_URL: 'mongodb://m/' };
  const result = projectorConfig({ ...servers, ...settings });
  if ('errors' in result) throw new Error(result.errors.join());
  return groupIdOf(result.config, generation);
};

test.each([
  ['support-read-models', {}, 1],
  ['support-read-models_g2', {}, 2],
  ['staging-read-models', { DATABASE_NAME: 'staging' }, 1],
  ['mine_g2', { DATABASE_NAME: 'staging', CONSUMER_GROUP: 'mine' }, 2],
])('the group %s follows from the settings %j for generation %d', (name, settings, generation) => {
  expect(group(settings, generation)).toBe(name);
});
