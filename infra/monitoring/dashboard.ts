import { type Panel, rows } from './panels.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };
/** The columns of the grid, and the height of a panel. */
const columns = 24;
const height = 8;

/** Returns the dashboard in Grafana's format. `npm run docs` writes it as dashboard.json. */
export function dashboardJson(): string {
  const panels: object[] = [];
  let y = 0;
  const add = (panel: object) => panels.push({ id: panels.length + 1, ...panel });
  for (const [title, row] of Object.entries(rows)) {
    add({ type: 'row', title, collapsed: false, gridPos: { h: 1, w: columns, x: 0, y }, panels: [] });
    y += 1;
    const w = Math.floor(columns / Math.min(row.length, 3));
    for (const [index, panel] of row.entries()) {
      const place = { x: (index % 3) * w, y: y + Math.floor(index / 3) * height };
      add(panelJson(panel, { h: height, w, ...place }));
    }
    y += Math.ceil(row.length / 3) * height;
  }
  const dashboard = {
    uid: 'support-read-models',
    title: 'Support read models',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }],
    },
    panels,
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

const panelJson = ({ title, description, unit, queries }: Panel, gridPos: object) => ({
  type: 'timeseries',
  title,
  description,
  datasource,
  gridPos,
  fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
  targets: queries.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource,
    expr,
    legendFormat,
  })),
});
