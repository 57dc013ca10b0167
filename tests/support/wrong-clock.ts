/** Settings for a service process that runs this code before its own. */
const preloading = (code: string) => {
  const url = `data:text/javascript,${encodeURIComponent(code)}`;
  return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${url}` };
};

/** Settings for a service process whose wall clock is wrong: from its start on, and from the signal SIGUSR2 on. */
export const wrongClock = ({ fromStartMs = 0, fromSignalMs = 0 }): { NODE_OPTIONS: string } =>
  preloading(`
    const RealDate = Date;
    let wrongMs = ${fromStartMs};
    globalThis.Date = class extends RealDate {
      constructor(...given) { given.length === 0 ? super(RealDate.now() + wrongMs) : super(...given); }
      static now() { return RealDate.now() + wrongMs; }
    };
    process.on('SIGUSR2', () => { wrongMs = ${fromSignalMs}; });`);

/**
 * Settings for a service process whose own time limits of ten seconds and more never pass, however slow the machine is.
 */
export const withoutTimeLimits = (): { NODE_OPTIONS: string } =>
  preloading(`
    const setRealTimeout = setTimeout;
    globalThis.setTimeout = (run, ms, ...given) => setRealTimeout(run, ms >= 10_000 ? 2 ** 31 - 1 : ms, ...given);`);
