import type { OpenApiDocument } from './spec.ts';
import type { Reference } from './types.ts';

/** The object to which a reference leads, such as `#/components/schemas/Ticket`; any other object is returned as it is. */
export function resolve<Target extends object>(spec: OpenApiDocument, value: Target | Reference): Target {
  if (!('$ref' in value)) return value;
  const [, ...steps] = value.$ref.split('/');
  return steps.reduce<unknown>((parent, step) => (parent as Record<string, unknown>)[step], spec) as Target;
}
