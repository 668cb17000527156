/**
 * Owns: a model whose calls a test answers by hand, piece by piece, in any order. Never answers by itself, except to
 * an abort.
 */
import type {
  Model,
  ModelAnswer,
  ModelFault,
  ModelInfo,
  ModelOutcome,
  ModelRequest,
} from '../../src/ports/model.ts';

export interface FakeCall {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  text(text: string): void;
  reasoning(text: string): void;
  /** Says something on the way to the answer. */
  notice(code: string, message: string): void;
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

/** A model of which nothing special is known. */
export const modelInfo: ModelInfo = {
  alias: 'test',
  description: 'scripted by the test',
  demo: false,
  isDefault: false,
  health: 'UNKNOWN',
  problem: null,
  window: null,
  maxOutput: null,
  concurrency: null,
  inUse: 0,
  waiting: 0,
  fallbacks: [],
  temperature: null,
  effort: null,
  efforts: [],
  vision: false,
  reasoning: false,
  price: null,
};

/** `models`: what is known of them, the default first. */
export function createFakeModel(
  models: readonly ModelInfo[] = [
    { ...modelInfo, alias: 'test', description: 'scripted by the test', isDefault: true },
    { ...modelInfo, alias: 'other', description: 'another', demo: true },
  ],
): FakeModel {
  const calls: FakeCall[] = [];
  let stubborn = false;
  return {
    calls,
    ignoreAborts: () => void (stubborn = true),
    list: () => models,
    call: (request, signal, onEvent) =>
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
            onEvent({ type: 'text', text });
          },
          reasoning: (text) => onEvent({ type: 'reasoning', text }),
          notice: (code, message) => onEvent({ type: 'notice', code, message }),
          answer: (answer = {}) =>
            resolve({
              type: 'answered',
              text: said,
              reasoning: '',
              calls: [],
              finish: 'STOP',
              usage: null,
              alias: request.lane ?? request.model.alias,
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
              alias: request.lane ?? request.model.alias,
              accepted: false,
              othersLeft: false,
              message: 'The endpoint refused.',
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
