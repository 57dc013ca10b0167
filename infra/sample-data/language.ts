import type { Random } from './random.ts';
import { scenarios, type Scenario } from './scenarios.ts';
import { closings, firstNames, followUps, greetings, lastNames } from './vocabulary.ts';

/** The subject of one ticket. */
export type Subject = { scenario: Scenario; fill: (text: string) => string };

/** Picks a subject about one of the products that the organization sells. */
export function pickSubject(random: Random, products: readonly string[]): Subject {
  const item = random.pick(products);
  const order = `#${random.between(10_000, 99_999)}`;
  const fill = (text: string) => {
    const filled = text.replaceAll('{item}', item).replaceAll('{order}', order);
    return filled.charAt(0).toUpperCase() + filled.slice(1);
  };
  return { scenario: random.pick(scenarios), fill };
}

export const title = (random: Random, { scenario, fill }: Subject) => fill(random.pick(scenario.titles));

/** The first message of a conversation. */
export const opening = (random: Random, { scenario, fill }: Subject) => fill(random.pick(scenario.openings));

/** A later message of the contact. */
export const followUp = (random: Random) => random.pick(followUps);

/** An answer of the team or its AI agent. */
export const answer = (random: Random, { scenario, fill }: Subject) =>
  `${random.pick(greetings)} ${fill(random.pick(scenario.answers))} ${random.pick(closings)}`;

type PersonName = { first: string; last: string };

export const personName = (random: Random): PersonName => ({
  first: random.pick(firstNames),
  last: random.pick(lastNames),
});

/** An email address of the person, in ASCII letters. */
export function addressOf({ first, last }: PersonName, number: number, domain: string): string {
  const plain = (text: string) =>
    text
      .normalize('NFD')
      .replace(/[^A-Za-z]/g, '')
      .toLowerCase();
  return `${plain(first)}.${plain(last)}${number}@${domain}`;
}
