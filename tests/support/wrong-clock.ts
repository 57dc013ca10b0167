/** Settings for a service process whose wall clock is wrong: from its start on, and from the signal SIGUSR2 on. */
export function wrongClock({ fromStartMs = 0, fromSignalMs = 0 }): { NODE_OPTIONS: string } {
  const preload = `
    const RealDate = Date;
    let wrongMs = ${fromStartMs};
    globalThis.Date = class extends RealDate {
      constructor(...given) { given.length === 0 ? super(RealDate.now() + wrongMs) : super(...given); }
      static now() { return RealDate.now() + wrongMs; }
    };
    process.on('SIGUSR2', () => { wrongMs = ${fromSignalMs}; });`;
  const url = `data:text/javascript,${encodeURIComponent(preload)}`;
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${url}` };
}
