import { writeFileSync } from 'node:fs';
import { defaultDocument } from './default-document.ts';

/** `npm run openapi`: writes the document of the default configuration to `openapi.json`. */
writeFileSync('openapi.json', `${JSON.stringify(defaultDocument(), null, 2)}\n`);
