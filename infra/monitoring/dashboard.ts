import { type Panel, rows } from './panels.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };
/** Grafana's grid has 24 columns. */
const gridColumns = 24;
const panelsPerLine = 3;
/** In grid units of 30 pixels. */
const panelHeight = 8;

/** Returns the dashboard in Grafana's format. `npm run docs` writes it as dashboard.json. */
export function dashboardJson(): string {
  const panels: object[] = [];
  // Where the next row begins.
  let y = 0;
  const add = (panel: object) => panels.push({ id: panels.length + 1, ...panel });
  for (const [title, row] of Object.entries(rows)) {
    add({ type: 'row', title, collapsed: false, gridPos: { h: 1, w: gridColumns, x: 0, y }, panels: [] });
    y += 1;
    const w = Math.floor(gridColumns / Math.min(row.length, panelsPerLine));
    for (const [index, panel] of row.entries()) {
      const line = Math.floor(index / panelsPerLine);
      const x = (index % panelsPerLine) * w;
      add(panelJson(panel, { h: panelHeight, w, x, y: y + line * panelHeight }));
    }
    y += Math.ceil(row.length / panelsPerLine) * panelHeight;
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
    // Grafana names queries A, B, C …
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource,
    expr,
    legendFormat,
  })),
});
