import type { JsonSchema } from './json-schema.ts';

/** The part of OpenAPI 3.1 that this service uses. */
export type Reference = { $ref: string };

export type Parameter = {
  name: string;
  in: 'query' | 'path' | 'header';
  required: boolean;
  description: string;
  schema: JsonSchema;
  example?: unknown;
  style?: 'form';
  explode?: boolean;
};

/** A group of operations. */
export type Tag = { name: string; description: string };

export type Header = { description: string; required: boolean; schema: JsonSchema; example: string | number };

export type MediaType = {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { summary: string; value: unknown }>;
};

export type Response = {
  description: string;
  headers: Record<string, Header | Reference>;
  content?: { 'application/json': MediaType };
};

export type Operation = {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  security?: Record<string, string[]>[];
  parameters: (Parameter | Reference)[];
  responses: Record<string, Response | Reference>;
  /** The method of the typed client, from which it is generated. */
  'x-client-method'?: string;
  'x-codeSamples'?: { lang: string; label: string; source: string }[];
};
