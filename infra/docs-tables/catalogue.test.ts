import { unitOf } from './catalogue.ts';
import { metricCatalogues } from './tables.ts';

const { projector, api } = metricCatalogues();

it.each([...new Map([...projector, ...api].map((metric) => [metric.name, metric])).values()])(
  '$name follows the conventions of Prometheus',
  ({ name, type, help, labelNames }) => {
    expect(name).toMatch(/^(projector|api|support)_[a-z0-9]+(_[a-z0-9]+)*$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|kb|mb|megabytes|percent)(_|$)/);
    // If a name contains a unit, `unitOf` must find the unit at the end of the name.
    if (/seconds|bytes/.test(name)) expect(unitOf({ name })).toMatch(/s$/);
    expect(help.length).toBeGreaterThan(10);
    expect(labelNames).not.toContain('generation');
  },
);
