import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { OpenApiDocument } from '../../services/api/openapi/spec.ts';

/** Validates a value by the schema at a JSON pointer of the document. Returns the errors, or null for a valid value. */
export type Validate = (pointer: string, value: unknown) => string | null;

/** Strict: an unknown keyword or format in a schema fails, because it would accept every value. */
export function documentSchemas(document: OpenApiDocument): Validate {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  formats.default(ajv);
  // The document itself is not a schema: Ajv must ignore its other keys, and the keys for generators of clients.
  ajv.addVocabulary([...Object.keys(document), 'discriminator', 'x-enum-varnames', 'x-extensible-enum']);
  ajv.addSchema(document, 'document');
  return (pointer, value) => {
    const isValid = ajv.validate(`document${pointer}`, value);
    return isValid ? null : ajv.errorsText(ajv.errors, { separator: '\n' });
  };
}
