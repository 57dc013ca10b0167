/* Adds a button to each example, which copies it. A page over plain HTTP has no clipboard. */
for (const example of navigator.clipboard ? document.querySelectorAll('pre') : []) {
  const button = document.createElement('button');
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(example.textContent);
    button.textContent = 'Copied';
  });
  example.before(button);
}
