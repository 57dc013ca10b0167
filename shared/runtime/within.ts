/**
 * The value of `working`, or that of `late` if `working` takes longer than `ms`; it then goes on unseen. An answer that
 * has arrived counts as in time, even if this process was too busy to read it.
 */
export async function within<T, L>(ms: number, working: Promise<T>, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;
  const waited = new Promise<void>((resolve) => {
    // After a stall, the event loop fires timers before it reads its sockets.
    timer = setTimeout(() => (immediate = setImmediate(resolve)), ms);
  });
  return Promise.race([working, waited.then(late)]).finally(() => {
    clearTimeout(timer);
    clearImmediate(immediate);
  });
}
