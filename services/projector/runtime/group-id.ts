/** The consumer group of a generation. */
export const groupIdOf = ({ CONSUMER_GROUP }: { CONSUMER_GROUP: string }, generation: number): string =>
  generation === 1 ? CONSUMER_GROUP : `${CONSUMER_GROUP}_g${generation}`;
