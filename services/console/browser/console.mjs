/* Reads a page again while it is visible, and replaces the parts that have changed. Draws charts, copies commands. */
const intervalMs = 3_000;
const answerMs = 20_000;
/** Content that was read longer ago than this does not show the present state. */
const staleAfterMs = 15_000;
const lost = document.getElementById('lost');
const paused = document.getElementById('paused');
/** The content of each part as it was sent: drawn charts and open details belong to the reader. */
const sent = new Map();
const charts = new Map();
let failedLoads = 0;
let timer;
let isReading = false;
/** When the shown content was requested. */
let readAt = Date.now() - performance.now();

const age = document.createElement('p');
age.className = 'finding bad';

const live = (page) => [...page.querySelectorAll('[data-live]')];

function setText(element, text) {
  // A screen reader reads a text again that is set again.
  if (element.textContent !== text) element.textContent = text;
}

/** Withdraws each verdict once it is old, even if the script does not know why the reading has stopped. */
function showAge() {
  const ageMs = Date.now() - readAt;
  if (!lost || ageMs <= staleAfterMs) return;
  age.textContent = `Not read for ${Math.floor(ageMs / 1_000)} s.`;
  const fresh = document.getElementById('fresh');
  if (!fresh.contains(age)) fresh.replaceChildren(age);
  sent.delete(fresh);
  for (const verdict of document.querySelectorAll('[data-live] .verdict')) {
    verdict.className = 'verdict bad';
    setText(verdict, `Unknown: this page was not read for more than ${staleAfterMs / 1_000} s.`);
    sent.delete(verdict.closest('[data-live]'));
  }
}

/** The text of a command in the region that a click has selected. */
function selectedCommand(region) {
  const selection = getSelection();
  const text = selection.toString();
  const isIn = (command) => command.textContent === text && selection.containsNode(command, true);
  return [...region.querySelectorAll('.command')].some(isIn) ? text : null;
}

function replace(region, next) {
  if (!next || sent.get(region) === next.innerHTML) return;
  sent.set(region, next.innerHTML);
  for (const { id } of region.querySelectorAll('details[open]'))
    next.querySelector(`#${CSS.escape(id)}`)?.setAttribute('open', '');
  const active = document.activeElement;
  const name = ['id', 'href', 'data-copy'].find((attribute) => active.hasAttribute(attribute));
  const focused = region.contains(active) && name && `[${name}="${CSS.escape(active.getAttribute(name))}"]`;
  const selected = selectedCommand(region);
  region.replaceChildren(...next.childNodes);
  const again = [...region.querySelectorAll('.command')].find(({ textContent }) => textContent === selected);
  if (again) getSelection().selectAllChildren(again);
  if (focused) region.querySelector(focused)?.focus({ preventScroll: true });
}

/** Whether a replacement would take a selection from the reader. A verdict is never held back for one. */
function isHeld(region) {
  const selection = getSelection();
  if (selection.isCollapsed || !selection.containsNode(region, true)) return false;
  return region.id !== 'fresh' && !region.querySelector('.verdict');
}

const clock = (seconds) =>
  new Date(seconds * 1_000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });

async function draw() {
  for (const [plot, { chart, resizes }] of charts) {
    if (plot.isConnected) continue;
    resizes.disconnect();
    chart.destroy();
    charts.delete(plot);
  }
  const plots = [...document.querySelectorAll('[data-points]')].filter((plot) => !charts.has(plot));
  if (plots.length === 0) return;
  // Charts are decoration: without them the table has the numbers. A browser may keep a failed load of an address, so
  // each further try has another one.
  const loaded = await import(`/assets/uplot.mjs?${failedLoads}`).catch(() => null);
  if (!loaded) {
    failedLoads += 1;
    return;
  }
  const { default: uPlot } = loaded;
  for (const plot of plots) {
    if (!plot.isConnected || charts.has(plot)) continue;
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

/** The reason why a page was not read, for an operator. */
function problemOf(error) {
  if (error.name === 'TimeoutError') return `The console has not answered for ${answerMs / 1_000} s.`;
  return error instanceof TypeError ? 'The console does not answer.' : error.message;
}

async function refusal(response) {
  const { status, headers } = response;
  if (status === 401) return new Error('The console needs its token again: load the page.');
  const isText = headers.get('Content-Type')?.startsWith('text/plain');
  const text = isText ? (await response.text()).trim().slice(0, 300) : response.statusText;
  return new Error(
    `The console, or a proxy in front of it, answers ${status}: ${text || 'without a reason'}`,
  );
}

/** Returns the page as it is now; null if the browser has to load it instead. */
async function load() {
  const response = await fetch(location.pathname + location.search, {
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMs),
  });
  // A proxy wants a login.
  if (response.type === 'opaqueredirect') return null;
  if (!response.ok) throw await refusal(response);
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  // A page that was opened without data lacks the parts that show it.
  return live(page).length === live(document).length ? page : null;
}

function show(page) {
  const regions = live(document);
  const held = regions.filter(isHeld);
  for (const region of regions) {
    if (!held.includes(region)) replace(region, page.getElementById(region.id));
  }
  paused.hidden = held.length === 0;
  lost.hidden = true;
}

async function refresh() {
  if (isReading) return;
  isReading = true;
  const startedAt = Date.now();
  try {
    const page = await load();
    if (!page) return location.reload();
    show(page);
    readAt = startedAt;
    draw();
  } catch (error) {
    setText(lost, `${problemOf(error)} This is the last data that it sent.`);
    lost.hidden = false;
  } finally {
    isReading = false;
    follow();
  }
}

function follow(afterMs = intervalMs) {
  clearTimeout(timer);
  if (!document.hidden && lost) timer = setTimeout(refresh, afterMs);
}

document.addEventListener('click', async ({ target }) => {
  if (!target.dataset.copy) return;
  await navigator.clipboard.writeText(target.dataset.copy);
  target.classList.add('done');
});
document.addEventListener('visibilitychange', () => {
  showAge();
  follow(0);
});
for (const region of live(document)) sent.set(region, region.innerHTML);
setInterval(showAge, 1_000);
follow();
// The content comes later than this page could wait.
if (document.querySelector('[data-again]')) setTimeout(() => location.reload(), intervalMs);
// Browsers give a clipboard only to pages of this machine and to pages over HTTPS.
if (navigator.clipboard) document.documentElement.dataset.clipboard = 'yes';
await draw();
document.documentElement.dataset.console = 'ready';
