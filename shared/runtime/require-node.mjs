/**
 * Exits 2 on a Node without type stripping, or without the syntax that the sources use. It runs before the services and
 * the CLI, as a process of its own, because an older Node may refuse their options too. Plain JavaScript, which any
 * Node reads.
 */
const needed = 26;
const { node } = process.versions;

if (Number(node.split('.')[0]) < needed) {
  console.error(
    `This needs Node ${needed} or later, and is run by Node ${node}. ` +
      '`npm ci --include=dev` installs one for this project.',
  );
  process.exit(2);
}
