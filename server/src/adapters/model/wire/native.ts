/**
 * Owns: what an answer keeps for the model that wrote it, per dialect, and to whom it is told again.
 *
 * Invariant: nothing of it reaches another alias, another model or another dialect than it came from.
 */
import type { Native } from 'schema/projection';
import type { Binding } from '../binding.ts';
import { isRecord, listOf, textOf, type Json } from './json.ts';

/** The names under which chat completions carry thoughts, the one that providers insist on first. */
export const reasoningFields = ['reasoning_content', 'reasoning'] as const;
export type ReasoningField = (typeof reasoningFields)[number];

/** A part of a chat answer: the field its thoughts came in, or what came beside the call of that place. */
export type ChatNative =
  { readonly field: ReasoningField } | { readonly call: number; readonly extra_content: unknown };

/** The parts that this binding's model wrote itself; none where another one did. */
export function partsOf(native: Native | undefined, binding: Binding): readonly unknown[] {
  if (native?.alias !== binding.alias || native.model !== binding.model) return [];
  return native.dialect === binding.dialect ? native.parts : [];
}

/** The field in which the thoughts of a chat answer came; null when they did not come in one. */
export function fieldIn(parts: readonly unknown[]): ReasoningField | null {
  for (const part of parts) {
    const known = reasoningFields.find((field) => isRecord(part) && part['field'] === field);
    if (known) return known;
  }
  return null;
}

/** What came beside the call of this place of a chat answer; undefined when nothing did. */
export const extraIn = (parts: readonly unknown[], call: number): unknown =>
  parts.filter(isRecord).find((part) => part['call'] === call)?.['extra_content'];

/**
 * The reasoning items of a responses answer that can be told again: only encrypted ones, since nothing is stored at
 * the provider. Their status is not for the provider to read.
 */
export const reasoningItemsIn = (parts: readonly unknown[]): readonly Json[] =>
  parts
    .filter(isRecord)
    .filter((part) => part['type'] === 'reasoning' && textOf(part['encrypted_content']) !== '')
    .map(({ status: _, ...item }) => ({ ...item, summary: listOf(item['summary']) }));
