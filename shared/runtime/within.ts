/** The value of `working`, or that of `late` if `working` takes longer than `ms`; it then goes on unseen. */
export async function within<T, L>(ms: number, working: Promise<T>, late: () => L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  return Promise.race([working, waited.then(late)]).finally(() => clearTimeout(timer));
}
