/**
 * Owns: showing what a write would change, as a unified diff a person can read in full.
 */
import { formatPatch, OMIT_HEADERS, structuredPatch } from 'diff';
import { visible, visibleLine } from 'schema/projection';

/** Comparing two long, different texts can take for ever; then the whole is shown as replaced. */
const effort = { timeout: 250, maxEditLength: 2_000 };

/** `before` null: the file is new, or holds no text to compare with. */
export function unifiedDiff(
  {
    label,
    before,
    after,
  }: { readonly label: string; readonly before: string | null; readonly after: string },
  maxLength: number,
): string {
  if (before === after) return 'Nothing changes: the file has exactly this content.\n';
  const name = visibleLine(label);
  const patch = structuredPatch('', '', before ?? '', after, undefined, undefined, { context: 3, ...effort });
  const hunks = patch === undefined ? replacement(before ?? '', after) : formatPatch(patch, OMIT_HEADERS);
  // Headers of our own: the library quotes names as git does, in octal, which nobody reads.
  const body = `--- ${before === null ? '/dev/null' : `a/${name}`}\n+++ b/${name}\n${hunks.trim() === '' ? '[an empty file]\n' : hunks}`;
  const cut = shorten(body, maxLength, (lines) => `[… ${lines} more lines of the diff are not shown …]`);
  return visible(cut);
}

function replacement(before: string, after: string): string {
  const lines = (text: string): string[] => text.replace(/\n$/, '').split('\n');
  const [old, next] = [lines(before), lines(after)];
  return [
    `[Too different to compare: all ${old.length} lines are replaced by these ${next.length}.]`,
    ...next.map((line) => `+${line}`),
    '',
  ].join('\n');
}

/** At most `max` code units, never half a surrogate pair; `note` says how many lines are missing. */
function shorten(text: string, max: number, note: (lines: number) => string): string {
  if (text.length <= max) return text;
  const lineEnd = text.lastIndexOf('\n', max);
  let end = lineEnd > max / 2 ? lineEnd : max;
  if (/[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end--;
  const missing = text
    .slice(end)
    .split('\n')
    .filter((line) => line !== '').length;
  return `${text.slice(0, end)}\n${note(missing)}\n`;
}
