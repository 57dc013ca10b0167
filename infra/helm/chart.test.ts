import { readFileSync } from 'node:fs';

test('the chart runs the release of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(readFileSync('infra/helm/Chart.yaml', 'utf8')).toContain(`appVersion: ${version}\n`);
});
