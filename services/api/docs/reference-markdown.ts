import type { OpenApiDocument } from '../openapi/spec.ts';
import type { Field } from './fields.ts';
import type { Site } from './layout.ts';
import { fenced, toMarkdown } from './markdown.ts';
import { linkCodes, type OperationContent, type ReferenceContent } from './reference-content.ts';

/** The reference in Markdown. */
export const referenceMarkdown = (
  site: Site,
  { info }: OpenApiDocument,
  { introduction, headers, groups }: ReferenceContent,
): string =>
  joinParts(
    `# ${info.title}`,
    `${info.summary} Version ${info.version}. The address is \`${site.apiUrl}\`. The same as an [OpenAPI 3.1 document](${site.href('/openapi.json')}).`,
    toMarkdown(site, introduction),
    '## Response headers',
    fieldList(headers),
    ...groups.flatMap(({ name, description, operations }) => [
      `## ${name}`,
      description,
      ...operations.map((operation) => operationSection(site, operation)),
    ]),
  );

const operationSection = (site: Site, operation: OperationContent): string => {
  const { summary, path, description, parameters, fields, statuses, samples, example } = operation;
  const linkedStatuses = statuses.map((status) => ({
    ...status,
    description: linkCodes(status.description, site.markdownHref),
  }));
  return joinParts(
    `### ${summary}`,
    `\`GET ${path}\``,
    description,
    parameters.length > 0 ? '#### Parameters' : '',
    fieldList(parameters),
    '#### Fields of the response',
    fieldList(fields),
    '#### Other statuses',
    fieldList(linkedStatuses),
    '#### Examples',
    ...samples.map(({ lang, source }) => fenced(lang.toLowerCase(), source)),
    example === null ? '' : fenced('json', example),
  );
};

const fieldList = (fields: Field[]): string =>
  fields
    .map(({ path, type, description, variant }) => {
      const details = [type, variant ? `only if ${variant}` : ''].filter(Boolean).join(', ');
      const detailsInBrackets = details && ` (${details})`;
      return `- \`${path}\`${detailsInBrackets}: ${description}`;
    })
    .join('\n');

/** Joins the parts that are not empty, with an empty line between them. */
const joinParts = (...parts: string[]): string => parts.filter(Boolean).join('\n\n');
