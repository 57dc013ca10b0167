import { counted } from '../../../shared/runtime/counted.ts';

/** `start` is the command that starts a projector of the generation. */
export const neverStarted = (start: string): string => `no projector has run on it yet: ${start}`;

export const rejectsText = (count: number): string =>
  `it has ${counted(count, 'dead letter')} that the active generation does not have`;
