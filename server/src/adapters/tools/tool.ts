/**
 * Owns: what one tool is to the registry: its definition, its arguments' schema, and its two acts.
 */
import type * as z from 'zod';
import type { Preview, ToolResult } from 'schema/projection';

type Access = 'READ' | 'WRITE' | 'EXECUTE';

export interface Tool<Arguments> {
  readonly name: string;
  /** For the model. */
  readonly description: string;
  readonly access: Access;
  readonly schema: z.ZodType<Arguments>;
  /** Looks, changes nothing. A sentence instead of a preview when the call cannot work. */
  preview(args: Arguments, workspace: string, workstreamId: string): Promise<Previewed | Refusal>;
  run(args: Arguments, context: RunContext): Promise<ToolResult>;
}

export interface Previewed {
  /** Of this call, where it is less than its tool may do. */
  readonly access?: Access;
  readonly preview: Preview;
  readonly basis: string | null;
}

/** An expected failure: one or two sentences the model can act on. */
export interface Refusal {
  readonly refused: string;
}

export interface RunContext {
  readonly callId: string;
  readonly workstreamId: string;
  readonly workspace: string;
  readonly basis: string | null;
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
}

export const refuse = (refused: string): Refusal => ({ refused });

export const isRefusal = (value: object | string): value is Refusal =>
  typeof value === 'object' && 'refused' in value;

/** A failure that changed nothing. */
export const failed = (content: string): ToolResult => ({ outcome: 'ERROR', effect: 'NONE', content });

export const canceledBeforeStart: ToolResult = {
  outcome: 'CANCELED',
  effect: 'NONE',
  content: 'Stopped before it started; nothing was changed.',
};
