import { writeFileSync } from 'node:fs';
import { specFor } from './spec-for.ts';

/** Used by `npm run openapi`: writes the OpenAPI document of the default configuration to `openapi.json`. */
writeFileSync('openapi.json', `${JSON.stringify(specFor(), null, 2)}\n`);
