/**
 * Owns: what both dialects' requests have in common: what is asked, and how a call is named, told and known again.
 *
 * Invariants: call ids are unique within a request and the same in call and result (D-35), and earlier calls keep theirs
 * as a conversation grows; arguments on the wire are always the text of a JSON object.
 */
import type { Call } from 'schema/projection';
import type { ModelMessage } from '../../../ports/model.ts';
import type { Asked } from '../asked.ts';
import type { Binding, Traits } from '../binding.ts';
import { isRecord, parseJson } from './json.ts';

/** How an endpoint wants to be asked, beyond the traits of its model (`wants.ts`). */
export interface Wants {
  /** It may be asked to count its tokens. */
  readonly usage: boolean;
  readonly outputField: Traits['outputField'];
  /** Each assistant message has to say what was thought. */
  readonly reasoningBack: boolean;
  /** `temperature 0.2`, `effort HIGH`: values that it does not take. */
  readonly refused: ReadonlySet<string>;
  /** It takes and gives encrypted thoughts. */
  readonly encrypted: boolean;
  /** Most tokens of the answer in place of the setting; null: as set. */
  readonly outputLimit: number | null;
  /** Most tokens of an answer, as far as it has said so by refusing more; null: it has not. */
  readonly outputMost: number | null;
  /** It takes a limit of the answer, where none is set. */
  readonly limited: boolean;
}

/** All that a request is made of. */
export interface Outgoing {
  readonly binding: Binding;
  readonly asked: Asked;
  readonly wants: Wants;
}

export type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;

/** Whether there is nothing in it that a provider accepts: strict ones refuse such a message for ever after. */
export const isBare = ({ text, calls }: AssistantMessage): boolean =>
  calls.length === 0 && text.trim() === '';

export interface WireIds {
  /** Takes the next message of the conversation. */
  assign(message: ModelMessage): void;
  /** Of a call in a message that was taken. */
  idOf(callId: string): string;
}

/** The provider's own id where it is usable and not taken by an earlier call, else one made from ours. */
export function createWireIds(): WireIds {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  const assign = (call: Pick<Call, 'callId' | 'providerId'>): void => {
    if (ids.has(call.callId)) return;
    let id = call.providerId.trim();
    if (id === '' || id.length > 64) id = `call_${call.callId}`;
    if (taken.has(id)) id = `call_${call.callId}`;
    for (let n = 2; taken.has(id); n++) id = `call_${call.callId}_${n}`;
    taken.add(id);
    ids.set(call.callId, id);
  };
  return {
    assign(message) {
      if (message.role === 'assistant') message.calls.forEach(assign);
    },
    idOf: (callId) => ids.get(callId) ?? `call_${callId}`,
  };
}

/** Arguments the model wrote badly stay so in the journal; sent back, they would be refused in every later request. */
export const wireArguments = (text: string): string => (isRecord(parseJson(text)) ? text : '{}');

export const wireName = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64) || 'unknown';

/** What is sent of the settings of this call: what the endpoint refused before is left out. */
export function settingsOf(outgoing: Outgoing) {
  const { binding, asked, wants } = outgoing;
  const { temperature, effort } = asked;
  return {
    temperature:
      temperature !== null && !wants.refused.has(`temperature ${temperature}`) ? temperature : null,
    effort: effort !== null && !wants.refused.has(`effort ${effort}`) ? effort : null,
    maxOutput: maxOutputOf(outgoing),
    oneToolAtATime: !binding.traits.parallelTools && asked.tools.length > 0,
  };
}

/** The least of what is set, what is asked for, and what the endpoint takes and has room for; null: not sent. */
function maxOutputOf({ binding, asked, wants }: Outgoing): number | null {
  const limits = [wants.outputLimit ?? binding.maxOutput, wants.limited ? (asked.maxOutput ?? null) : null];
  const known = limits.filter((limit) => limit !== null);
  return known.length === 0 ? null : Math.min(...known, wants.outputMost ?? Infinity);
}

/** As the provider writes it. */
export const wireEffort = (effort: NonNullable<Asked['effort']>) =>
  effort.toLowerCase() as Lowercase<typeof effort>;
