import type { Token } from 'marked';
import { errorCodes } from '../http/error-envelope.ts';
import type { JsonSchema } from '../openapi/json-schema.ts';
import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Operation, Parameter, Response } from '../openapi/types.ts';
import { type Field, listFields, resolve, typeOf } from './fields.ts';
import type { Site } from './layout.ts';
import { lexMarkdown } from './markdown.ts';

/** The content of the section of an endpoint. Descriptions are in Markdown. */
export type OperationContent = {
  id: string;
  path: string;
  summary: string;
  description: string;
  parameters: Field[];
  /** The fields of the response. */
  fields: Field[];
  /** The statuses besides 200. */
  statuses: Field[];
  samples: NonNullable<Operation['x-codeSamples']>;
  /** The JSON of a response. */
  example: string | null;
};

/** The endpoints of one tag of the OpenAPI document. */
export type Group = { id: string; name: string; description: string; operations: OperationContent[] };

/** The content of the reference, which a page and its Markdown show. */
export type ReferenceContent = {
  introduction: Token[];
  /** The headers of responses. */
  headers: Field[];
  groups: Group[];
};

export const referenceContent = (site: Site, spec: OpenApiDocument): ReferenceContent => ({
  introduction: lexMarkdown(site, spec.info.description),
  headers: headersOf(spec),
  groups: spec.tags.map(({ name, description }) => ({
    id: name.toLowerCase(),
    name,
    description,
    operations: operationsOf(spec, name),
  })),
});

function operationsOf(spec: OpenApiDocument, tag: string): OperationContent[] {
  const operations: OperationContent[] = [];
  for (const [path, { get }] of Object.entries(spec.paths)) {
    if (get.tags.includes(tag)) operations.push(operationContent(spec, path, get));
  }
  return operations;
}

/** The headers of the first endpoint's responses. All endpoints below `/v1` have the same headers. */
function headersOf(spec: OpenApiDocument): Field[] {
  const [firstEndpoint] = Object.values(spec.paths);
  const responses = Object.values(firstEndpoint?.get.responses ?? {});
  const headers = new Map(
    responses.flatMap((response) => Object.entries(resolve<Response>(spec, response).headers)),
  );
  return [...headers].map(([path, header]) => {
    const { description, schema } = resolve<{ description: string; schema: JsonSchema }>(spec, header);
    return { path, type: typeOf(spec, schema), description, variant: null };
  });
}

function operationContent(spec: OpenApiDocument, path: string, operation: Operation): OperationContent {
  const { operationId: id, summary, description, responses, 'x-codeSamples': samples = [] } = operation;
  const { 200: ok, ...others } = responses;
  const body = ok && resolve<Response>(spec, ok).content?.['application/json'];
  const parameters = operation.parameters.map((parameter) => resolve<Parameter>(spec, parameter));
  return {
    id,
    path,
    summary,
    description,
    parameters: parameters.map((parameter) => parameterField(spec, parameter)),
    fields: body ? listFields(spec, body.schema) : [],
    statuses: Object.entries(others).map(([status, response]) => ({
      path: status,
      type: '',
      description: resolve<Response>(spec, response).description,
      variant: null,
    })),
    samples,
    example: body?.example ? JSON.stringify(body.example, null, 2) : null,
  };
}

function parameterField(spec: OpenApiDocument, { name, in: place, schema, description }: Parameter): Field {
  const { default: value } = schema as { default?: string | number };
  const defaultText = value === undefined ? '' : `, default \`${value}\``;
  return { path: name, type: `${place}, ${typeOf(spec, schema)}${defaultText}`, description, variant: null };
}

/** Turns each error code in a description, such as `invalid_cursor` in backticks, into a link to its page. */
export const linkCodes = (description: string, href: (path: string) => string): string =>
  description.replace(/`(\w+)`/g, (text, code: string) =>
    (errorCodes as string[]).includes(code) ? `[${text}](${href(`/docs/errors/${code}`)})` : text,
  );
