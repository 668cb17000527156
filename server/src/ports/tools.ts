/**
 * Owns: the need for tools: what there is, what a call would do, and doing it. Whether a person is asked is the
 * policy's decision (core), not the tool's.
 */
import type { ToolResult } from 'schema/projection';
import type { Access, PreparedCall } from '../core/approvals/prepared.ts';
import type { ToolDefinition } from './model.ts';

export type { Access, PreparedCall } from '../core/approvals/prepared.ts';

export interface ToolCall {
  readonly callId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly arguments: string;
  readonly workstreamId: string;
  /** Absolute path of the workstream's folder; nothing outside it, and nothing of the server's own data in it, may be read or written. */
  readonly workspace: string;
}

export interface Tools {
  readonly definitions: readonly (ToolDefinition & { readonly access: Access })[];
  /** Validates and previews; changes nothing; never throws. */
  prepare(call: ToolCall): Promise<PreparedCall>;
  /**
   * Runs it. `basis` is what `prepare` returned: when the world has moved on since, it refuses with effect NONE.
   * `onOutput` gets live output in order. On abort it ends what it began and answers what was observed:
   * outcome CANCELED with the effect as far as known (UNKNOWN for a command that had started). Never throws.
   */
  run(
    call: ToolCall & { readonly basis: string | null },
    signal: AbortSignal,
    onOutput: (text: string) => void,
  ): Promise<ToolResult>;
}
