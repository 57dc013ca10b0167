import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { OpenApiDocument } from '../../services/api/openapi/types.ts';

/** Tells what is wrong with a value by the schema at a JSON pointer of the document; null when nothing is. */
export type Faults = (pointer: string, value: unknown) => string | null;

/** Strict: a schema with a keyword or a format that means nothing fails, rather than to pass everything. */
export function documentSchemas(document: OpenApiDocument): Faults {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  formats.default(ajv);
  // The document is no schema itself; what lies outside its schemas is not looked at.
  ajv.addVocabulary(Object.keys(document));
  ajv.addSchema(document, 'document');
  return (pointer, value) => {
    const isValid = ajv.validate(`document${pointer}`, value);
    return isValid ? null : ajv.errorsText(ajv.errors, { separator: '\n' });
  };
}
