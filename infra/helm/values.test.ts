import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { chartSchema, chartValues } from './values.ts';

const yaml = (file: string) => parse(readFileSync(`infra/helm/${file}`, 'utf8')) as Record<string, unknown>;

test('values.schema.json describes the values (`npm run docs` writes it)', () => {
  expect(JSON.parse(readFileSync('infra/helm/values.schema.json', 'utf8'))).toEqual(
    JSON.parse(JSON.stringify(chartSchema())),
  );
});

test('the defaults are valid, and Helm refuses a misspelt setting', () => {
  const defaults = yaml('values.yaml');
  expect(chartValues.safeParse(defaults).error).toBeUndefined();
  const misspelt = { ...defaults, settings: { KAFKA_BROKER: 'kafka:9092' } };
  expect(chartValues.safeParse(misspelt).error?.message).toContain('KAFKA_BROKER');
});

test('a setting has one place: with secrets, with its only reader, or with those that several services read', () => {
  const { settings, projector, api, cli } = chartValues.shape;
  const places = [settings, ...[projector, api, cli].map(({ shape }) => shape.settings)];
  const names = places.flatMap(({ shape }) => Object.keys(shape));
  const secrets = [projector, api, cli].flatMap(({ shape }) => Object.keys(shape.secrets.shape));
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => secrets.includes(name))).toEqual([]);
  expect(secrets).toEqual(expect.arrayContaining(['MONGODB_URL', 'KAFKA_SASL_PASSWORD']));
});

test('the chart runs the release of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(yaml('Chart.yaml').appVersion).toBe(version);
});
