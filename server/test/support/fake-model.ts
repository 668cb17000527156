/**
 * Owns: a model whose calls a test answers by hand, piece by piece, in any order. Never answers by itself, except to
 * an abort.
 */
import type { Model, ModelAnswer, ModelFault, ModelOutcome, ModelRequest } from '../../src/ports/model.ts';

export interface FakeCall {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  text(text: string): void;
  reasoning(text: string): void;
  /** Ends the call; what is not given is empty. */
  answer(answer?: Partial<Omit<ModelAnswer, 'type'>>): void;
  /** Ends the call with calls of these tools. */
  callTools(...calls: readonly (readonly [name: string, args: string])[]): void;
  fail(fault?: Partial<Omit<ModelFault, 'type'>>): void;
  end(outcome: ModelOutcome): void;
  /** The promise rejects, which a model must never do. */
  crash(error: Error): void;
}

export interface FakeModel extends Model {
  /** Every call so far, ended or not. */
  readonly calls: readonly FakeCall[];
  /** An abort is not answered: the call streams for ever. */
  ignoreAborts(): void;
}

export function createFakeModel(): FakeModel {
  const calls: FakeCall[] = [];
  let stubborn = false;
  return {
    calls,
    ignoreAborts: () => void (stubborn = true),
    list: () => [
      { alias: 'test', description: 'scripted by the test', demo: false, isDefault: true },
      { alias: 'other', description: 'another', demo: true, isDefault: false },
    ],
    call: (request, signal, onDelta) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          if (!stubborn) resolve({ type: 'aborted' });
        });
        let said = '';
        const call: FakeCall = {
          request,
          signal,
          text(text) {
            said += text;
            onDelta({ type: 'text', text });
          },
          reasoning: (text) => onDelta({ type: 'reasoning', text }),
          answer: (answer = {}) =>
            resolve({
              type: 'answered',
              text: said,
              reasoning: '',
              calls: [],
              finish: 'STOP',
              usage: null,
              model: 'test',
              ...answer,
            }),
          callTools: (...tools) =>
            call.answer({
              finish: 'TOOL_CALLS',
              calls: tools.map(([name, args], i) => ({ providerId: `call_${i}`, name, arguments: args })),
            }),
          fail: (fault = {}) =>
            resolve({
              type: 'failed',
              kind: 'OTHER',
              message: 'The endpoint refused.',
              retryable: false,
              retryAfterMs: null,
              ...fault,
            }),
          end: resolve,
          crash: reject,
        };
        calls.push(call);
      }),
  };
}
