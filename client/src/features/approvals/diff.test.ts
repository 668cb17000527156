import { expect, it } from 'vitest';
import { diffLines, diffSummary } from './diff.ts';

it('tells added, removed and unchanged lines apart, and names no removed line a file', () => {
  const lines = diffLines('--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- a dashed line\n+new\n');
  expect(lines.map((l) => l.kind)).toEqual(['file', 'file', 'place', 'same', 'removed', 'added']);
  expect(diffSummary(lines)).toBe('1 line added, 1 removed');
});
