import { writeFileSync } from 'node:fs';
import { documentFor } from './document-for.ts';

/** `npm run openapi`: writes the document of the default configuration to `openapi.json`. */
writeFileSync('openapi.json', `${JSON.stringify(documentFor(), null, 2)}\n`);
