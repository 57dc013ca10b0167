import { table } from '../table.ts';
import type { Status } from './read.ts';

/** Renders the status as text. */
export function renderStatus(status: Status): string {
  const rows = status.partitions.map(({ topic, partition, position, end, lag }) => [
    topic,
    String(partition),
    String(position),
    String(end),
    String(lag),
  ]);
  const counts = Object.entries(status.documents).map(([kind, count]) => [kind, String(count)]);
  return [
    `generation    ${status.generation ?? 'none yet'}`,
    `watermark     ${status.watermark ?? 'none yet'}`,
    `dead letters  ${status.deadLetters}`,
    `pending       ${status.pending.conversations} conversations, ${status.pending.tickets} tickets`,
    ...status.warnings.map((warning) => `warning       ${warning}`),
    '',
    table(['documents', 'count'], counts),
    table(['topic', 'partition', 'position', 'end', 'lag'], rows),
  ].join('\n');
}
