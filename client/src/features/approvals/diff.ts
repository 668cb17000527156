/** Owns: telling the lines of a unified diff apart. Pure. */

export interface DiffLine {
  readonly kind: 'added' | 'removed' | 'place' | 'file' | 'same';
  readonly text: string;
}

export function diffLines(diff: string): readonly DiffLine[] {
  let inHunk = false;
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .map((text) => {
      if (text.startsWith('@@')) {
        inHunk = true;
        return { kind: 'place', text };
      }
      if (!inHunk && /^(?:---|\+\+\+|diff |index |===)/.test(text)) return { kind: 'file', text };
      if (text.startsWith('+')) return { kind: 'added', text };
      if (text.startsWith('-')) return { kind: 'removed', text };
      return { kind: 'same', text };
    });
}

/** `3 lines added, 1 removed`. */
export function diffSummary(lines: readonly DiffLine[]): string {
  const count = (kind: DiffLine['kind']) => lines.filter((line) => line.kind === kind).length;
  const added = count('added');
  const removed = count('removed');
  return `${added} ${added === 1 ? 'line' : 'lines'} added, ${removed} removed`;
}
