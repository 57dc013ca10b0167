import { base, en, Faker } from '@faker-js/faker';
import type { z } from 'zod';
import { instant, referredKind as declaredKind } from '../../shared/documents/fields.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { type Kind, kinds, states } from '../../shared/documents/resources.ts';
import type { SourceState } from './encode.ts';
import { type Entity, idPrefixOf } from './entity.ts';
import type { Random } from './random.ts';

type Schema = z.core.$ZodType;
type Shape = Readonly<Record<string, Schema>>;
/** The schemas that have parts or choices. Any other schema is a text or an instant. */
type Node =
  | z.core.$ZodObject
  | z.core.$ZodUnion
  | z.core.$ZodDefault
  | z.core.$ZodNullable
  | z.core.$ZodPipe
  | z.core.$ZodArray
  | z.core.$ZodEnum
  | z.core.$ZodLiteral
  | z.core.$ZodBoolean
  | z.core.$ZodNumber;

/** The fields of a state that the caller sets, at any depth; the maker draws all others. */
type GivenFields = { readonly [field: string]: unknown };

/** Creates an entity of the organization. A reference that the caller does not set leads to an earlier entity. */
export type Make = <K extends Kind>(kind: K, given?: GivenFields) => Entity<K>;

/** Draws believable texts from the same random source. */
export const createFaker = (random: Random) =>
  new Faker({ locale: [en, base], randomizer: { next: random.unit, seed: () => undefined } });

const domainName = (faker: Faker) => `${faker.internet.domainWord()}.test`;

/** Texts by the name of their field. Addresses are in domains that are reserved for examples and tests. */
const texts: Record<string, (faker: Faker) => string> = {
  name: (faker) => faker.person.fullName(),
  displayName: (faker) => faker.commerce.department(),
  aiDisplayName: (faker) => faker.person.firstName(),
  email: (faker) => faker.internet.exampleEmail().toLowerCase(),
  inbox: (faker) => faker.internet.exampleEmail().toLowerCase(),
  replyTo: (faker) => faker.internet.exampleEmail().toLowerCase(),
  domain: domainName,
  allowedDomains: domainName,
  redirectUrl: (faker) => `https://${domainName(faker)}/thanks`,
  filename: (faker) => faker.system.commonFileName(faker.helpers.arrayElement(['pdf', 'png', 'eml'])),
  color: (faker) => faker.color.rgb(),
  default: (faker) => faker.helpers.arrayElement(['en', 'de', 'fr']),
  enabled: (faker) => faker.helpers.arrayElement(['en', 'de', 'fr']),
  label: (faker) => faker.commerce.productAdjective(),
  id: (faker) => faker.string.nanoid(),
};

/** The kind to which an id refers, as its entity declares; undefined for any other field. */
const referredKind = (schema: Schema): Kind | undefined =>
  kinds.find((kind) => kind === declaredKind(schema));

const shapeOf = (schema: Schema): Shape => {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === 'pipe') return shapeOf(def.in);
  return def.type === 'object' ? def.shape : {};
};

/** Whether the fields of an option include the given ones, with their literal values. */
const fits = (option: Schema, given: GivenFields) =>
  Object.entries(given).every(([name, value]) => {
    const { def } = (shapeOf(option)[name] as z.core.$ZodTypes | undefined)?._zod ?? {};
    return def !== undefined && (def.type !== 'literal' || def.values.includes(value as string));
  });

/** Whether the caller sets some fields of an object, or none. It sets any other value as a whole. */
const isPart = (given: unknown): given is GivenFields | undefined =>
  given === undefined || (typeof given === 'object' && given !== null && !Array.isArray(given));

/** The options of a union that the given fields fit; all options if none is given. */
const optionsFor = (options: readonly Schema[], given?: GivenFields) =>
  given ? options.filter((option) => fits(option, given)) : options;

/** The maker draws references from the first entities of a kind, up to this number. */
const referredMax = 10_000;

type MakerDeps = {
  random: Random;
  orgId: string;
  now: Date;
  /** Draws the entity of a kind that a field refers to; by default an earlier entity. */
  refer?: (kind: Kind) => string;
};

/** Creates entities of one organization by the schemas of their states, so a new field needs no line here. */
export function createMaker({ random, orgId, now, refer }: MakerDeps): Make {
  const faker = createFaker(random);
  const made = new Map<Kind, string[]>();
  const past = () => new Date(now.getTime() - random.between(1, 400 * dayMs)).toISOString();

  /** Whether the field refers to a kind that has no entity yet. */
  const isUnmade = (schema: Schema) => {
    const kind = referredKind(schema);
    return kind !== undefined && !refer && !made.has(kind);
  };
  const leaf = (schema: Schema, field: string): unknown => {
    if (schema === instant) return past();
    const kind = referredKind(schema);
    if (kind) return refer?.(kind) ?? random.pick(made.get(kind) ?? []);
    return texts[field]?.(faker) ?? faker.company.catchPhrase();
  };
  const fieldsOf = (shape: Shape, given: GivenFields = {}) =>
    Object.fromEntries(Object.entries(shape).map(([name, part]) => [name, valueOf(part, name, given[name])]));
  const distinctItems = (element: Schema, field: string) => {
    const items = Array.from({ length: random.between(0, 3) }, () => valueOf(element, field));
    return [...new Set(items)];
  };
  const numberOf = ({ minValue, maxValue }: z.ZodNumber) =>
    random.between(Math.max(minValue ?? 1, 1), Math.min(maxValue ?? 90, 90));
  const isDrawnNull = (inner: Schema) => random.chance(0.25) || isUnmade(inner);

  // eslint-disable-next-line complexity -- a table of the kinds of schemas
  const valueOf = (schema: Schema, field: string, given?: unknown): unknown => {
    if (!isPart(given)) return given;
    const { def } = (schema as Node)._zod;
    switch (def.type) {
      case 'object':
        return fieldsOf(def.shape, given);
      case 'union':
        return valueOf(random.pick(optionsFor(def.options, given)), field, given);
      case 'default':
        return valueOf(def.innerType, field, given);
      case 'nullable':
        return !given && isDrawnNull(def.innerType) ? null : valueOf(def.innerType, field, given);
      case 'pipe':
        return valueOf(def.in, field, given);
      case 'array':
        return distinctItems(def.element, field);
      case 'enum':
        return random.pick(Object.values(def.entries));
      case 'literal':
        return def.values[0];
      case 'boolean':
        return random.chance(0.5);
      case 'number':
        return numberOf(schema as z.ZodNumber);
      default:
        return leaf(schema, field);
    }
  };
  return <K extends Kind>(kind: K, given: GivenFields = {}) => {
    const id = random.id(idPrefixOf(kind));
    const state = valueOf(states[kind], kind, { id, ...given }) as SourceState<K>;
    const ids = made.get(kind) ?? [];
    made.set(kind, ids);
    if (ids.length < referredMax) ids.push(state.id);
    return { kind, orgId, version: 0, state };
  };
}
