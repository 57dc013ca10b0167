/*
 * The preconditions of a service's start: one list serves the start, which repeats each attempt, and `support-cli
 * check`, which makes one attempt and prints a line for each.
 */

/** A condition that must be met before a service starts. */
export type Precondition<In, Out> = {
  /** The name of its line in a check. */
  name: string;
  /** The settings that decide whether it is met. */
  setting: string;
  /** Receives the results of the conditions before it, and resolves to its own result. Rejects if it is not met. */
  run: (found: In) => Promise<Out>;
  /** Describes success to an operator. */
  describe: (found: In & Out) => string;
};

/** Calls `attempt` once or several times, until the condition is met. `describe` describes success to an operator. */
export type Meet = <Out>(
  condition: Pick<Precondition<never, never>, 'name' | 'setting'>,
  attempt: () => Promise<Out>,
  describe: (out: Out) => string,
) => Promise<Out>;

/** Conditions in the order in which a start meets them. Each receives the results of the conditions before it. */
export type Preconditions<In, Out> = {
  list: readonly Pick<Precondition<never, never>, 'name' | 'setting'>[];
  /** The conditions with a further one after them. */
  and: <More extends object>(condition: Precondition<Out, More>) => Preconditions<In, Out & More>;
  /** Meets the conditions one after the other. Resolves to all their results together. */
  meetAll: (base: In, meet: Meet) => Promise<Out>;
};

/** No condition yet: `and` adds them. */
export const preconditionsOf = <In extends object>(): Preconditions<In, In> =>
  inOrder([], async (base) => base);

function inOrder<In, Out extends object>(
  list: Preconditions<In, Out>['list'],
  meetAll: Preconditions<In, Out>['meetAll'],
): Preconditions<In, Out> {
  return {
    list,
    meetAll,
    and: (condition) =>
      inOrder([...list, condition], async (base, meet) => {
        const found = await meetAll(base, meet);
        const attempt = () => condition.run(found);
        const added = await meet(condition, attempt, (more) => condition.describe({ ...found, ...more }));
        return { ...found, ...added };
      }),
  };
}
