/** Returns the source of the client's methods and named types. The OpenAPI document has the names of both. */
export function clientSource({ paths, components: { schemas } }) {
  const methods = Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .map(([path, { get }]) => methodOf(path, get, schemas));
  const tree = {};
  for (const { steps, ...method } of methods) {
    let branch = tree;
    for (const step of steps.slice(0, -1)) {
      branch[step] ??= {};
      branch = branch[step];
    }
    branch[steps.at(-1)] = method;
  }
  return `${header}
${Object.entries(schemas).map(namedType).join('')}
${methods.map(({ params }) => params).join('')}
/** The endpoints of the API. */
export interface Client ${members(tree, 'type', ';')}

export const createMethods = ({ list, retrieve }: Requests): Client => (${members(tree, 'code', ',')});
`;
}

const header = `/** Generated from openapi.json by npm run client:generate. Do not edit. */
import type { Requests } from '../requests.ts';
import type { Answer, ListRequest, Query, RequestOptions } from '../types.ts';
import type { components } from './openapi.ts';

type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];
`;

const comment = (text) => `/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */\n`;
const nameOf = ({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1);

/** An interface has a name in editors and compiler messages. A union has none, but its members do. */
function namedType([name, schema]) {
  if (name === 'Error' || name.endsWith('List')) return '';
  const union = schema.oneOf ?? schema.anyOf;
  const type = union
    ? `export type ${name} = ${union.map(nameOf).join(' | ')};\n`
    : `export interface ${name} extends Schema<'${name}'> {}\n`;
  return `${comment(schema.description)}${type}`;
}

/** A method: the steps of its name, and the source of its type, its code and its parameter type. */
function methodOf(path, { operationId, summary, description, parameters, responses, ...rest }, schemas) {
  const name = rest['x-client-method'];
  const steps = name.split('.');
  const isList = steps.at(-1) === 'list';
  const body = nameOf(responses[200].content['application/json'].schema);
  const item = isList ? nameOf(schemas[body].properties.data.items) : body;
  const paramsType = `${operationId[0].toUpperCase()}${operationId.slice(1)}Params`;
  const id = path.includes('{id}') ? 'id' : null;
  const params = parameters.some((parameter) => parameter.in === 'query') ? 'params' : null;
  const types = [id && 'id: string', params && `params?: ${paramsType}`, 'options?: RequestOptions'];
  const names = [id, params, 'options'].filter(Boolean).join(', ');
  const passed = [`'${path}'`, String(id), ...(isList ? ['params'] : []), 'options'].join(', ');
  return {
    steps,
    comment: comment(`${summary}. ${description}`),
    type: `(${types.filter(Boolean).join(', ')}) => ${isList ? `ListRequest<${item}>` : `Promise<Answer<${item}>>`}`,
    code: `(${names}) => ${isList ? 'list' : 'retrieve'}(${passed})`,
    params: params
      ? `${comment(`Parameters of \`${name}\`.`)}export interface ${paramsType} extends Query<'${path}'> {}\n`
      : '',
  };
}

/** The methods as nested objects, whose leaves are types or code; the types have comments. */
function members(tree, kind, end, indent = '') {
  const inner = `${indent}  `;
  const lines = Object.entries(tree).map(([name, { [kind]: text, comment: about, ...branch }]) => {
    const aboutType = text && kind === 'type' ? `${inner}${about}` : '';
    return `${aboutType}${inner}${name}: ${text ?? members(branch, kind, end, inner)}${end}\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}
