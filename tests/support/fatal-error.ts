import type { Service } from '../../infra/service.ts';

type FatalError = { type: string; message: string; code?: string };

/** The error with which a process ended by itself, from its log; undefined if it has logged none. */
export const fatalError = ({ log }: Service): FatalError | undefined =>
  log.find(({ level }) => level === 'fatal')?.error as FatalError | undefined;
