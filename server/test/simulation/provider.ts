/**
 * Owns: models and tools of a simulated world, which say and do what moves tell them, at any time, also too late; and
 * what they did, which outlives the process that asked.
 *
 * Invariants: words of one call arrive in order, its end last and once.
 */
import type { ToolResult } from 'schema/projection';
import type { State } from '../../src/core/workstream/state.ts';
import type {
  Model,
  ModelAnswer,
  ModelDelta,
  ModelFault,
  ModelMessage,
  ModelOutcome,
  ModelRequest,
} from '../../src/ports/model.ts';
import type { Access, PreparedCall, ToolCall, Tools } from '../../src/ports/tools.ts';
import { summaryWordOf } from './context-laws.ts';
import type { EffectLaws } from './effect-laws.ts';
import {
  aliasOf,
  bareTokensIn,
  countOf,
  isTooLong,
  models,
  tokensIn,
  windowOf,
  type Counting,
} from './endpoints.ts';
import { wordOf } from './journal-laws.ts';
import type { Process, Scheduler } from './scheduler.ts';
import type { Trap } from './trap.ts';
import type { UsageLaws } from './usage-laws.ts';

interface Work {
  readonly by: Process;
  readonly workstreamId: string;
  readonly signal: AbortSignal;
  /** Its end is decided, and perhaps not yet heard. */
  over: boolean;
  /** Its end was heard. */
  heard: boolean;
  /** Does not care about aborts. */
  stubborn: boolean;
}

export interface ModelCall extends Work {
  said: string;
  /** The first word of its answer. */
  readonly word: string;
  /** What it was asked to summarise; null: it was asked for an answer. */
  readonly material: string | null;
  readonly alias: string;
  say(delta: ModelDelta): void;
  /** Ends it with what was said, or with another text, as its endpoint counts. */
  answer(answer?: Partial<Pick<ModelAnswer, 'text' | 'calls' | 'finish'>>): void;
  fail(fault?: Partial<ModelFault>): void;
  end(outcome: ModelOutcome): void;
}

export interface ToolRun extends Work {
  readonly call: ToolCall;
  output(text: string): void;
  end(result: ToolResult): void;
}

export interface Provider {
  /** How all endpoints count from now on. */
  counting: Counting;
  /** No endpoint counted far too little in this life: whoever believes them is not deceived. */
  readonly isHonest: boolean;
  readonly calls: readonly ModelCall[];
  readonly runs: readonly ToolRun[];
  model(process: Process, actor: (workstreamId: string) => State | null): Model;
  tools(process: Process, actor: (workstreamId: string) => State | null): Tools;
  /** What a server does to what a dead one left behind on its host. */
  endLeftovers(host: string, callIds: readonly string[]): readonly string[];
}

const accessOf: Readonly<Record<string, Access>> = { look: 'READ', write: 'WRITE', run: 'EXECUTE' };
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const workspaceIn = (text: string): string => /\/folders\/([\w-]+)/.exec(text)?.[1] ?? '';

export function createProvider(deps: {
  readonly scheduler: Scheduler;
  readonly laws: EffectLaws;
  readonly usage: UsageLaws;
  readonly trap: Trap;
}): Provider {
  const { scheduler, laws, usage, trap } = deps;
  const calls: ModelCall[] = [];
  const runs: ToolRun[] = [];
  let prepared = 0;
  let counting: Counting = 'HONEST';
  let isHonest = true;
  /** Calls of each summary under each claim. */
  const parts = new Map<string, number>();

  /** A line from the world into a process: what is put in comes out in order, when a move takes it. */
  function line(process: Process, what: string): (deliver: () => void) => void {
    const waiting: (() => void)[] = [];
    return (deliver) => {
      waiting.push(deliver);
      scheduler.later(process, `${process.name}: ${what}`, () => waiting.shift()?.());
    };
  }

  /** By which name its cost is to be kept, and which part of a summary it is. */
  function nameOf(
    state: State | null,
    isSummary: boolean,
  ): { readonly id: string | null; readonly part: number } {
    if (!isSummary) return { id: state?.attempt?.messageId ?? null, part: 1 };
    if (!state?.summary) return { id: null, part: 1 };
    const work = `${state.summary.id}:${state.epoch}.${state.projection.generation}`;
    const part = (parts.get(work) ?? 0) + 1;
    parts.set(work, part);
    return { id: `${work}:${part}`, part };
  }

  function call(
    process: Process,
    state: State | null,
    request: ModelRequest,
    signal: AbortSignal,
    onDelta: (delta: ModelDelta) => void,
  ): Promise<ModelOutcome> {
    const { messages, workstreamId } = request;
    const isSummary = request.tools.length === 0;
    const place = isSummary ? 'summary' : 'model';
    if (!process.alive || trap.springs(process, place, 'before')) return never();
    const beside = calls.filter(
      (c) => c.by === process && c.workstreamId === workstreamId && !c.heard && !c.signal.aborted,
    );
    const alias = aliasOf(request);
    const tokens = tokensIn(request);
    const word = isSummary ? summaryWordOf(calls.length) : wordOf(calls.length);
    const { id, part } = nameOf(state, isSummary);
    const compactionId = isSummary ? (state?.summary?.id ?? '') : null;
    laws.asked(process, workstreamId, state, {
      messages,
      word,
      beside: beside.length,
      request: {
        compactionId,
        tokens: bareTokensIn(request),
        window: isHonest ? windowOf(alias) : null,
        part,
      },
    });
    return new Promise<ModelOutcome>((resolve) => {
      const put = line(process, `${isSummary ? 'summary' : 'model'} call ${calls.length + 1} goes on`);
      let heard = '';
      const one: ModelCall = {
        by: process,
        workstreamId,
        signal,
        over: false,
        heard: false,
        stubborn: false,
        // Known by its first word, so that it can be told from any other.
        said: '',
        word,
        material: isSummary ? textOf(messages.at(-1)) : null,
        alias,
        say(delta) {
          if (one.over) return;
          const text = one.said === '' && delta.type === 'text' ? one.word + delta.text : delta.text;
          if (delta.type === 'text') one.said += text;
          put(() => {
            heard += text;
            onDelta({ ...delta, text });
          });
        },
        answer({ text = one.said || one.word, calls: declared = [], finish = 'STOP' } = {}) {
          const counted = countOf(counting, tokens, { text, calls: declared });
          if (counting === 'LOW') isHonest = false;
          one.end({
            type: 'answered',
            text,
            reasoning: '',
            calls: declared,
            finish,
            usage: counted,
            alias,
            model: alias,
          });
        },
        fail(fault = {}) {
          one.end({
            type: 'failed',
            kind: 'OTHER',
            alias,
            accepted: false,
            othersLeft: false,
            message: 'The endpoint is busy.',
            retryAfterMs: null,
            ...fault,
          });
        },
        end(outcome) {
          if (one.over) return;
          one.over = true;
          put(() => {
            one.heard = true;
            laws.over(one.word);
            const began = outcome.type === 'answered' || (outcome.type === 'failed' && outcome.accepted);
            const counted = outcome.type === 'answered' ? outcome.usage : null;
            const isCounted = counted && counted.inputTokens > 0 && counted.outputTokens > 0;
            if (id !== null && (began || heard !== ''))
              usage.ended({ id, by: process, workstreamId, usage: isCounted ? counted : null });
            resolve(outcome);
          });
        },
      };
      signal.addEventListener('abort', () => {
        if (!one.stubborn) one.end({ type: 'aborted' });
      });
      calls.push(one);
      if (isTooLong(alias, tokens))
        one.fail({ kind: 'CONTEXT_OVERFLOW', message: `${tokens} tokens are too many for ${alias}.` });
      trap.springs(process, place, 'after');
    });
  }

  const textOf = (message: ModelMessage | undefined): string => message?.text ?? '';

  return {
    get counting() {
      return counting;
    },
    set counting(how) {
      counting = how;
    },
    get isHonest() {
      return isHonest;
    },
    calls,
    runs,
    endLeftovers(host, callIds) {
      const left = runs.filter(
        (run) => !run.over && run.by.host === host && callIds.includes(run.call.callId),
      );
      for (const run of left) run.over = true;
      return left.map((run) => run.call.callId);
    },

    model: (process, actor) => ({
      list: () => models,
      call: (request, signal, onDelta) =>
        call(process, actor(request.workstreamId), request, signal, onDelta),
    }),

    tools: (process, actor) => ({
      definitions: Object.entries(accessOf).map(([name, access]) => ({
        name,
        access,
        description: `Simulated tool ${name}.`,
        parameters: { type: 'object' },
      })),
      prepare({ callId, name, arguments: args }) {
        if (!process.alive || trap.springs(process, 'prepare', 'before')) return never();
        const access = accessOf[name];
        const n = (prepared += 1);
        const result: PreparedCall =
          access && args !== 'invalid'
            ? {
                type: 'ready',
                access,
                // The world has moved on each time it is looked at.
                argumentsHash: `hash-${n}-of-${callId}`,
                preview: { kind: 'TEXT', title: name, body: args },
                basis: `basis-${n}-of-${callId}`,
              }
            : { type: 'invalid', message: 'There is no such tool.' };
        return new Promise((resolve) =>
          scheduler.later(process, `${process.name}: ${name} is prepared`, () => resolve(result)),
        );
      },
      run(call, signal, onOutput) {
        if (!process.alive || trap.springs(process, 'tool', 'before')) return never();
        const workstreamId = workspaceIn(call.workspace);
        laws.ran(process, workstreamId, actor(workstreamId), call, accessOf[call.name] !== 'READ');
        return new Promise<ToolResult>((resolve) => {
          const put = line(process, `run ${runs.length + 1} of ${call.name} goes on`);
          const run: ToolRun = {
            by: process,
            workstreamId,
            signal,
            call,
            over: false,
            heard: false,
            stubborn: false,
            output(text) {
              if (!run.over) put(() => onOutput(text));
            },
            end(result) {
              if (run.over) return;
              run.over = true;
              put(() => {
                run.heard = true;
                laws.over(call.callId);
                resolve(result);
              });
            },
          };
          signal.addEventListener('abort', () => {
            if (!run.stubborn) run.end({ outcome: 'CANCELED', effect: 'UNKNOWN', content: 'Ended.' });
          });
          runs.push(run);
          trap.springs(process, 'tool', 'after');
        });
      },
    }),
  };
}
