import { goalTable, grouped, markdownTable, formatted } from '../markdown.ts';
import { endpointsOf } from './dataset.ts';
import type { ServingResult } from './result.ts';

/** The result as Markdown, aligned to be readable as plain text too. */
export function renderResult(result: ServingResult): string {
  const { machine, rounds, connections, contenders, places, threads, goals } = result;
  const times = rounds === 1 ? 'Each ran once' : `Medians of ${rounds} rounds, with minimum and maximum`;
  const { cores, memoryGigabytes, node, store } = machine;
  return [
    `Ran on ${cores} cores with ${memoryGigabytes} GB of memory, shared with the store and the clients: Node ${node}, ` +
      `${store}. ${connections} connections. ${times}.`,
    ...endpointsOf(1).map(({ name, title }) => endpointTable(result, name, title)),
    markdownTable(
      ['contender', 'peak MB'],
      contenders.map(({ name, peakMegabytes }) => [`\`${name}\``, formatted(peakMegabytes, 0)]),
      1,
    ),
    markdownTable(
      ['tickets', 'place', 'a page of 20, ms'],
      places.map(({ tickets, place, p50Ms }) => [grouped(tickets, 0), place, formatted(p50Ms, 2)]),
      2,
    ),
    markdownTable(
      ['messages of a conversation', 'ms', 'messages/s'],
      threads.map(({ messages, ms }) => [
        grouped(messages, 0),
        formatted(ms, 1),
        ms ? grouped((messages / ms.median) * 1_000, 0) : '–',
      ]),
      0,
    ),
    goalTable(goals),
  ]
    .map((part) => `${part}\n`)
    .join('\n');
}

function endpointTable({ contenders }: ServingResult, endpoint: string, title: string): string {
  const rows = contenders.flatMap((contender) => {
    const found = contender.endpoints.find((one) => one.endpoint === endpoint);
    return found ? [{ contender, found }] : [];
  });
  const header = [title, '', 'requests/s', '÷ bare', '÷ fastify', 'processor ms', 'p99 ms'];
  return markdownTable(
    header,
    rows.map(({ contender: { name, title: what }, found }) => [
      `\`${name}\``,
      what,
      formatted(found.requestsPerSecond, 0),
      formatted(found.ofBare, 2),
      formatted(found.ofFastify, 2),
      formatted(found.processorMs, 2),
      formatted(found.p99Ms, 1),
    ]),
    2,
  );
}
