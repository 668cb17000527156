/**
 * Owns: one sentence for a Node that is too old. Plain JavaScript that Node 20 can read, because it speaks when the
 * Node of our own packages is missing (macOS on arm64 has none) and the one on PATH answers instead.
 */
const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 24) {
  console.error(
    `Weir runs on Node 24 or newer, but "node" is ${process.version} here and the packages bring none for ` +
      `${process.platform} ${process.arch}: install Node 24 from https://nodejs.org and try again.`,
  );
  process.exit(1);
}
