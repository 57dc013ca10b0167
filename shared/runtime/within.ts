/**
 * Resolves to the value of `working`, or after `ms` to the value of `late`; `working` then continues, and its value is
 * ignored. An answer that has arrived in time counts, even if this process was too busy to read it.
 */
export async function within<T, L>(ms: number, working: Promise<T>, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  const waited = new Promise<void>((resolve) => {
    // After a stall, the event loop fires timers before it reads its sockets.
    timer = setTimeout(() => {
      immediate = setImmediate(resolve);
    }, ms);
  });
  return Promise.race([working, waited.then(late)]).finally(() => {
    clearTimeout(timer);
    clearImmediate(immediate);
  });
}
