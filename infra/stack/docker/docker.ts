import type { Attempt } from '../stack.ts';

export const startInDocker = (): Promise<Attempt> => Promise.resolve({ unavailable: 'not supported yet' });
