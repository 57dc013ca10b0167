import { table } from '../output.ts';
import { countMax, type Status } from '../../operations/status/status.ts';

const counted = (count: number): string => `${count}${count >= countMax ? ' or more' : ''}`;

/** Renders the status as text. */
export function renderStatus(status: Status): string {
  const rows = status.partitions.map(({ topic, partition, position, end, lag }) => [
    topic,
    String(partition),
    String(position),
    String(end),
    String(lag),
  ]);
  const { conversations, tickets } = status.pending;
  const counts = Object.entries(status.documents).map(([kind, count]) => [kind, String(count)]);
  return [
    `generation    ${status.generation ?? 'none yet'}`,
    `watermark     ${status.watermark ?? 'none yet'}`,
    `dead letters  ${counted(status.deadLetters)}`,
    `pending       ${counted(conversations)} conversations, ${tickets ?? 'unknown (too many)'} tickets`,
    ...status.warnings.map((warning) => `warning       ${warning}`),
    '',
    table(['documents', 'estimate'], counts),
    table(['topic', 'partition', 'position', 'end', 'lag'], rows),
  ].join('\n');
}
