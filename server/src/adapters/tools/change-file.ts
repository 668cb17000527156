/**
 * Owns: what writing and editing have in common: the preview as a diff, its basis, and the one move that does it.
 */
import { type ToolResult, visibleLine } from 'schema/projection';
import { resolveInside, type ResolvedPath } from './confine.ts';
import { counted } from './counted.ts';
import { unifiedDiff } from './diff.ts';
import { contentOf, textOf, type FileContent } from './file-content.ts';
import type { ToolLimits } from './limits.ts';
import { canceledBeforeStart, failed, isRefusal, refuse, type Previewed, type Refusal } from './tool.ts';
import type { RunContext } from './tool.ts';
import { writeInside } from './write-inside.ts';

/** The new text of the file and what to tell the model when it is written. */
interface Change {
  readonly after: string;
  readonly report: string;
}

/** What a tool makes of a file as it is; `label` is how to call it. */
export type Changing = (file: FileContent, label: string) => Change | Refusal;

export async function previewChange(
  limits: ToolLimits,
  path: string,
  workspace: string,
  changing: Changing,
): Promise<Previewed | Refusal> {
  const found = await changeOf(limits, path, workspace, changing);
  if (isRefusal(found)) return found;
  const { resolved, file, change } = found;
  const before = file.bytes === null ? null : textOf(file.bytes);
  const diff = unifiedDiff({ label: resolved.label, before, after: change.after }, limits.maxPreviewLength);
  const note =
    file.bytes !== null && before === null
      ? `Replaces a file of ${counted(file.bytes.length, 'byte')} that is not text.\n`
      : '';
  const title = visibleLine(resolved.label);
  return { preview: { kind: 'DIFF', title, body: note + diff }, basis: file.basis };
}

export async function runChange(
  limits: ToolLimits,
  path: string,
  { workspace, basis, signal }: RunContext,
  changing: Changing,
): Promise<ToolResult> {
  if (signal.aborted) return canceledBeforeStart;
  if (basis === null)
    return failed('The call was not prepared, so nothing was written. Call the tool again.');
  const found = await changeOf(limits, path, workspace, (file, label) =>
    // Before anything else: what does not fit any more is explained by what has changed.
    file.basis === basis ? changing(file, label) : refuse(changedSince(label)),
  );
  if (isRefusal(found)) return failed(found.refused);
  const { resolved, change } = found;
  const written = await writeInside(resolved, Buffer.from(change.after), basis);
  switch (written.type) {
    case 'written':
      return { outcome: 'OK', effect: 'COMMITTED', content: change.report };
    case 'changed':
      return failed(changedSince(resolved.label));
    case 'failed':
      return {
        outcome: 'ERROR',
        effect: written.madeFolders ? 'PARTIAL' : 'NONE',
        content: written.message,
      };
  }
}

const changedSince = (label: string): string =>
  `"${visibleLine(label)}" was not written: the file changed after the approval was asked for. ` +
  'Read it again and make the change anew.';

async function changeOf(
  limits: ToolLimits,
  path: string,
  workspace: string,
  changing: Changing,
): Promise<{ resolved: ResolvedPath; file: FileContent; change: Change } | Refusal> {
  const resolved = await resolveInside(workspace, path, limits.closedFolders);
  if (isRefusal(resolved)) return resolved;
  const file = await contentOf(resolved, limits.maxFileBytes);
  if (isRefusal(file)) return file;
  const change = changing(file, visibleLine(resolved.label));
  if (isRefusal(change)) return change;
  if (change.after.includes('\0') || !change.after.isWellFormed()) {
    return refuse('The text holds a NUL or a broken character; these tools write text only.');
  }
  const size = Buffer.byteLength(change.after);
  if (size > limits.maxFileBytes) {
    return refuse(`The file would have ${size} bytes; this tool writes at most ${limits.maxFileBytes}.`);
  }
  return { resolved, file, change };
}
