/**
 * Owns: models and tools of a simulated world, which say and do what moves tell them, at any time, also too late; and
 * what they did, which outlives the process that asked.
 *
 * Invariants: words of one call arrive in order, its end last and once.
 */
import type { ToolResult } from 'schema/projection';
import type { State } from '../../src/core/workstream/state.ts';
import type { Model, ModelDelta, ModelMessage, ModelOutcome } from '../../src/ports/model.ts';
import type { Access, PreparedCall, ToolCall, Tools } from '../../src/ports/tools.ts';
import type { EffectLaws } from './effect-laws.ts';
import { wordOf } from './journal-laws.ts';
import { modelInfo } from '../support/fake-model.ts';
import type { Process, Scheduler } from './scheduler.ts';
import type { Trap } from './trap.ts';

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
  say(delta: ModelDelta): void;
  end(outcome: ModelOutcome): void;
}

export interface ToolRun extends Work {
  readonly call: ToolCall;
  output(text: string): void;
  end(result: ToolResult): void;
}

export interface Provider {
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
  readonly trap: Trap;
}): Provider {
  const { scheduler, laws, trap } = deps;
  const calls: ModelCall[] = [];
  const runs: ToolRun[] = [];
  let prepared = 0;

  /** A line from the world into a process: what is put in comes out in order, when a move takes it. */
  function line(process: Process, what: string): (deliver: () => void) => void {
    const waiting: (() => void)[] = [];
    return (deliver) => {
      waiting.push(deliver);
      scheduler.later(process, `${process.name}: ${what}`, () => waiting.shift()?.());
    };
  }

  const textOf = (message: ModelMessage | undefined): string =>
    message?.role === 'system' ? message.text : '';

  return {
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
      list: () => [{ ...modelInfo, isDefault: true }],
      call(request, signal, onDelta) {
        if (!process.alive || trap.springs(process, 'model', 'before')) return never();
        const workstreamId = workspaceIn(textOf(request.messages[0]));
        const beside = calls.filter(
          (c) => c.by === process && c.workstreamId === workstreamId && !c.heard && !c.signal.aborted,
        );
        laws.asked(
          process,
          workstreamId,
          actor(workstreamId),
          request.messages,
          wordOf(calls.length),
          beside.length,
        );
        return new Promise<ModelOutcome>((resolve) => {
          const put = line(process, `model call ${calls.length + 1} goes on`);
          const call: ModelCall = {
            by: process,
            workstreamId,
            signal,
            over: false,
            heard: false,
            stubborn: false,
            // Known by its first word, so that it can be told from any other.
            said: '',
            word: wordOf(calls.length),
            say(delta) {
              if (call.over) return;
              const text = call.said === '' && delta.type === 'text' ? call.word + delta.text : delta.text;
              if (delta.type === 'text') call.said += text;
              put(() => onDelta({ ...delta, text }));
            },
            end(outcome) {
              if (call.over) return;
              call.over = true;
              put(() => {
                call.heard = true;
                laws.over(call.word);
                resolve(outcome);
              });
            },
          };
          signal.addEventListener('abort', () => {
            if (!call.stubborn) call.end({ type: 'aborted' });
          });
          calls.push(call);
          trap.springs(process, 'model', 'after');
        });
      },
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
