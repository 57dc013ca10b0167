/* Fetches a page again while it is visible, and replaces the parts that have changed. Copies commands. */
const intervalMs = 3_000;
const lost = document.getElementById('lost');
let timer;

function replace(region, next) {
  if (!next || region.innerHTML === next.innerHTML) return;
  for (const { id } of region.querySelectorAll('details[open]'))
    next.querySelector(`#${CSS.escape(id)}`)?.setAttribute('open', '');
  const active = document.activeElement;
  const name = ['id', 'href', 'data-copy'].find((one) => active.hasAttribute(one));
  const focused = region.contains(active) && name && `[${name}="${CSS.escape(active.getAttribute(name))}"]`;
  region.replaceChildren(...next.childNodes);
  if (focused) region.querySelector(focused)?.focus({ preventScroll: true });
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
  if (!document.hidden && lost) timer = setTimeout(refresh, intervalMs);
}

document.addEventListener('click', async ({ target }) => {
  if (!target.dataset.copy) return;
  await navigator.clipboard.writeText(target.dataset.copy);
  target.classList.add('done');
});
document.addEventListener('visibilitychange', follow);
follow();
// Browsers give a clipboard to pages of this machine and of HTTPS alone.
if (navigator.clipboard) document.documentElement.dataset.clipboard = 'yes';
document.documentElement.dataset.console = 'ready';
