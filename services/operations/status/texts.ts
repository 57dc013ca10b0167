import { counted } from '../../../shared/runtime/counted.ts';
import { countMax, type Status } from './status.ts';

/** A number that was counted up to `countMax`. */
export const boundedCount = (count: number): string => `${count}${count >= countMax ? ' or more' : ''}`;

export const pendingText = ({ conversations, tickets }: Status['pending']): string =>
  `${conversations >= countMax ? `${boundedCount(conversations)} conversations` : counted(conversations, 'conversation')}, ` +
  (tickets === null ? 'unknown (too many) tickets' : counted(tickets, 'ticket'));
