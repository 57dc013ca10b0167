import type { Service } from '../../infra/service.ts';

type FatalError = { type: string; message: string; code?: string };

/** The error with which a process ended by itself, from its log; undefined if it has logged none. */
export function fatalError({ log }: Service): FatalError | undefined {
  const line = log.find(({ level }) => level === 'fatal');
  return line?.error as FatalError | undefined;
}
