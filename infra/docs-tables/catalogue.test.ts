import { unitOf } from './catalogue.ts';
import { metricCatalogues } from './tables.ts';

const { projector, api } = metricCatalogues();
/** Both services have some metrics, such as those of the process. */
const distinctByName = new Map([...projector, ...api].map((metric) => [metric.name, metric]));

test.each([...distinctByName.values()])(
  '$name follows the conventions of Prometheus',
  ({ name, type, help, labelNames }) => {
    expect(name).toMatch(/^(projector|api|support)_[a-z0-9]+(_[a-z0-9]+)*$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|megabytes|percent)(_|$)/);
    if (/seconds|bytes/.test(name)) expect(unitOf({ name })).toMatch(/s$/);
    // A shorter text can only repeat the name.
    expect(help.length).toBeGreaterThan(10);
    // The registry of a projector adds the label `generation` to every metric.
    expect(labelNames).not.toContain('generation');
  },
);
