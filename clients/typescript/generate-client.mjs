/** Returns the source of the client's methods, whose names the document has, and of its named types. */
export function clientSource({ paths, components }) {
  const operations = Object.entries(paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .map(([path, { get }]) => operationOf(path, get, components.schemas));
  return `${header}
${Object.entries(components.schemas).flatMap(namedType).join('')}
${operations.flatMap(parameterType).join('')}
/** The endpoints of the API. */
export interface Client ${members(treeOf(operations, 'type'), ';', '')}

export const createMethods = ({ list, retrieve }: Requests): Client => (${members(treeOf(operations, 'code'), ',', '')});
`;
}

const header = `/** Generated from openapi.json by npm run client:generate. Do not edit. */
import type { Requests } from '../requests.ts';
import type { Answer, ListRequest, Query, RequestOptions } from '../types.ts';
import type { components } from './openapi.ts';

type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];
`;

const comment = (text, indent = '') =>
  `${indent}/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ')} */\n`;
const nameOf = ({ $ref }) => $ref.slice($ref.lastIndexOf('/') + 1);

/** An interface has a name in editors and compiler messages. A union has none, but its members do. */
function namedType([name, schema]) {
  if (name === 'Error' || name.endsWith('List')) return [];
  const union = schema.oneOf ?? schema.anyOf;
  const type = union
    ? `export type ${name} = ${union.map(nameOf).join(' | ')};\n`
    : `export interface ${name} extends Schema<'${name}'> {}\n`;
  return [`${comment(schema.description)}${type}`];
}

function operationOf(path, { operationId, summary, description, parameters, responses, ...rest }, schemas) {
  const steps = rest['x-client-method'].split('.');
  const isList = steps.at(-1) === 'list';
  const body = nameOf(responses[200].content['application/json'].schema);
  const hasQuery = parameters.some((each) => each.in === 'query');
  return {
    path,
    steps,
    comment: comment(`${summary}. ${description}`),
    needsId: path.includes('{id}'),
    item: isList ? nameOf(schemas[body].properties.data.items) : body,
    params: hasQuery ? `${operationId[0].toUpperCase()}${operationId.slice(1)}Params` : null,
    isList,
  };
}

const parameterType = ({ params, path, steps }) =>
  params
    ? [
        `/** Parameters of \`${steps.join('.')}\`. */\nexport interface ${params} extends Query<'${path}'> {}\n`,
      ]
    : [];

/** The methods as nested objects, whose leaves are types or code. */
function treeOf(operations, kind) {
  const tree = {};
  for (const operation of operations) {
    let branch = tree;
    for (const step of operation.steps.slice(0, -1)) branch = branch[step] ??= {};
    branch[operation.steps.at(-1)] = kind === 'type' ? typeOf(operation) : codeOf(operation);
  }
  return tree;
}

function typeOf({ isList, needsId, params, item, comment: text }) {
  const id = needsId ? ['id: string'] : [];
  const given = params ? [`params?: ${params}`] : [];
  const result = isList ? `ListRequest<${item}>` : `Promise<Answer<${item}>>`;
  return {
    text: `(${[...id, ...given, 'options?: RequestOptions'].join(', ')}) => ${result}`,
    comment: text,
  };
}

function codeOf({ isList, needsId, params, path }) {
  const names = [...(needsId ? ['id'] : []), ...(params ? ['params'] : []), 'options'];
  const given = [`'${path}'`, needsId ? 'id' : 'null', ...(isList ? ['params'] : []), 'options'];
  return {
    text: `(${names.join(', ')}) => ${isList ? 'list' : 'retrieve'}(${given.join(', ')})`,
    comment: '',
  };
}

function members(tree, end, indent) {
  const inner = `${indent}  `;
  const lines = Object.entries(tree).map(([name, value]) =>
    typeof value.text === 'string'
      ? `${value.comment && `${inner}${value.comment}`}${inner}${name}: ${value.text}${end}\n`
      : `${inner}${name}: ${members(value, end, inner)}${end}\n`,
  );
  return `{\n${lines.join('')}${indent}}`;
}
