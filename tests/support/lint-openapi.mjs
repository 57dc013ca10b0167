import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';

/**
 * Prints the findings of the recommended rules of Redocly's linter on the OpenAPI document at a path. A
 * program of its own, as the linter is made of ES modules, which jest does not load.
 */
const [path = ''] = process.argv.slice(2);
const config = await createConfig({ extends: ['recommended'], telemetry: 'off' });
const problems = await lintFromString({ source: readFileSync(path, 'utf8'), config });
for (const { ruleId, message, location } of problems) {
  console.log(`${location[0]?.pointer ?? ''} ${ruleId}: ${message}`);
}
