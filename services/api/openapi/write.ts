import { writeFileSync } from 'node:fs';
import { specFor } from './spec-for.ts';

/** `npm run openapi`: writes the document of the default configuration to `openapi.json`. */
writeFileSync('openapi.json', `${JSON.stringify(specFor(), null, 2)}\n`);
