/* Fetches the page again while it is visible, and replaces the parts that have changed. */
const intervalMs = 3_000;
const lost = document.getElementById('lost');
let timer;

function replace(region, next) {
  if (!next || region.innerHTML === next.innerHTML) return;
  for (const { id } of region.querySelectorAll('details[open]'))
    next.querySelector(`#${CSS.escape(id)}`)?.setAttribute('open', '');
  const focused = region.contains(document.activeElement) ? document.activeElement.id : '';
  region.replaceChildren(...next.childNodes);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function refresh() {
  try {
    const response = await fetch(location.pathname + location.search, {
      signal: AbortSignal.timeout(20_000),
    });
    if (!response.ok) throw new Error(response.statusText);
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    // A replaced text would lose its selection.
    if (getSelection().isCollapsed)
      for (const region of document.querySelectorAll('[data-live]'))
        replace(region, page.getElementById(region.id));
    lost.hidden = true;
  } catch {
    lost.textContent = 'The console does not answer. This is the last data that it sent.';
    lost.hidden = false;
  }
  follow();
}

function follow() {
  clearTimeout(timer);
  if (!document.hidden) timer = setTimeout(refresh, intervalMs);
}

document.addEventListener('visibilitychange', follow);
follow();
document.documentElement.dataset.console = 'ready';
