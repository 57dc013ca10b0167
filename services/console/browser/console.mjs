/* Replaces the parts of the page that have changed, while the page is visible. */
const regions = document.querySelectorAll('[data-live]');
const lost = document.getElementById('lost');
let events = null;

function show({ data }) {
  lost.hidden = true;
  const focused = document.activeElement?.id;
  for (const [id, html] of Object.entries(JSON.parse(data))) {
    // The server escapes every value in this HTML.
    document.getElementById(id).innerHTML = html;
  }
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
}

function watch() {
  events?.close();
  events = null;
  if (document.hidden || regions.length === 0) return;
  events = new EventSource(`/events?page=${encodeURIComponent(location.pathname)}`);
  events.onmessage = show;
  events.onerror = () => {
    lost.textContent = 'The console does not answer. This is the last data that it sent.';
    lost.hidden = false;
  };
}

document.addEventListener('visibilitychange', watch);
watch();
document.documentElement.dataset.console = 'ready';
