/* Fetches a page again while it is visible, and replaces the parts that have changed. Draws charts, copies commands. */
const intervalMs = 3_000;
const lost = document.getElementById('lost');
/** The content of each part as it was sent: drawn charts and open details belong to the reader. */
const sent = new Map();
const charts = new Map();
let timer;

function replace(region, next) {
  if (!next || sent.get(region) === next.innerHTML) return;
  sent.set(region, next.innerHTML);
  for (const { id } of region.querySelectorAll('details[open]'))
    next.querySelector(`#${CSS.escape(id)}`)?.setAttribute('open', '');
  const active = document.activeElement;
  const name = ['id', 'href', 'data-copy'].find((one) => active.hasAttribute(one));
  const focused = region.contains(active) && name && `[${name}="${CSS.escape(active.getAttribute(name))}"]`;
  region.replaceChildren(...next.childNodes);
  if (focused) region.querySelector(focused)?.focus({ preventScroll: true });
}

const clock = (seconds) =>
  new Date(seconds * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

async function draw() {
  for (const [plot, { chart, resizes }] of charts)
    if (!plot.isConnected) {
      resizes.disconnect();
      chart.destroy();
      charts.delete(plot);
    }
  const plots = [...document.querySelectorAll('[data-points]')].filter((plot) => !charts.has(plot));
  if (plots.length === 0) return;
  const { default: uPlot } = await import('/assets/uplot.mjs');
  for (const plot of plots) {
    const { points, until, unit, least } = plot.dataset;
    const style = getComputedStyle(plot);
    const size = () => ({ width: plot.clientWidth, height: 200 });
    const axis = {
      stroke: style.color,
      font: `12px ${style.fontFamily}`,
      grid: { stroke: style.getPropertyValue('--line'), width: 1 },
      ticks: { stroke: style.getPropertyValue('--line'), width: 1 },
    };
    const options = {
      ...size(),
      legend: { show: false },
      cursor: { show: false },
      scales: {
        x: { range: [until - 3_600, +until] },
        y: { range: (_, __, max) => [0, Math.max(least, max * 1.1)] },
      },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(clock) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => tick.toLocaleString('en') + unit) },
      ],
      series: [{}, { stroke: style.getPropertyValue('--link'), width: 2, points: { show: false } }],
    };
    const chart = new uPlot(options, JSON.parse(points), plot);
    const resizes = new ResizeObserver(() => chart.setSize(size()));
    resizes.observe(plot);
    charts.set(plot, { chart, resizes });
  }
}

async function refresh() {
  try {
    const response = await fetch(location.pathname + location.search, {
      signal: AbortSignal.timeout(20_000),
    });
    if (!response.ok) throw new Error(response.statusText);
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const parts = (of) => of.querySelectorAll('[data-live]').length;
    // A page that was opened without data lacks the parts that show it.
    if (parts(page) !== parts(document)) return location.reload();
    // A replaced text would lose its selection.
    if (getSelection().isCollapsed)
      for (const region of document.querySelectorAll('[data-live]'))
        replace(region, page.getElementById(region.id));
    await draw();
    lost.hidden = true;
  } catch {
    lost.textContent = 'The console does not answer. This is the last data that it sent.';
    lost.hidden = false;
  }
  follow();
}

function follow() {
  clearTimeout(timer);
  if (!document.hidden && lost) timer = setTimeout(refresh, intervalMs);
}

document.addEventListener('click', async ({ target }) => {
  if (!target.dataset.copy) return;
  await navigator.clipboard.writeText(target.dataset.copy);
  target.classList.add('done');
});
document.addEventListener('visibilitychange', follow);
// The content comes later than this page could wait.
if (document.querySelector('[data-again]')) setTimeout(() => location.reload(), intervalMs);
for (const region of document.querySelectorAll('[data-live]')) sent.set(region, region.innerHTML);
await draw();
follow();
// Browsers give a clipboard to pages of this machine and of HTTPS alone.
if (navigator.clipboard) document.documentElement.dataset.clipboard = 'yes';
document.documentElement.dataset.console = 'ready';
