/**
 * Owns: one model call from the alias to the outcome: which model is asked, when it is its turn, and what is known of
 * its endpoint afterwards (D-36, D-37).
 * Does not own: the attempt itself (`caller.ts`), or asking again (the caller's ladder).
 *
 * Invariants: a slot is held from before the request until the answer is read or given up, never during a wait; a call
 * that has begun keeps the binding it began with; an alias keeps its gate as long as it is known; no alias is there
 * twice, and the demo's is its own.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Model, ModelEvent, ModelInfo, ModelRequest } from '../../ports/model.ts';
import { createGate, type Gate } from './admission.ts';
import type { Binding } from './binding.ts';
import type { BindingSource } from './bindings.ts';
import { createCaller, type Attempted, type Caller } from './caller.ts';
import { callDemo, demoAlias, demoModel } from './demo.ts';
import { effortFor } from './effort.ts';
import { createHealth, type Health } from './health.ts';

export interface PlaneDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly bindings: BindingSource;
  /** A call of this one was accepted, whatever came of it, and whether it is still what its alias stands for or not. */
  readonly onAccepted?: (binding: Binding) => void;
}

/** All models of this server behind one port; the demo is always one of them. */
export function createPlane(deps: PlaneDeps): Model {
  const { clock, log, bindings } = deps;
  const health: Health = createHealth();
  const gates = new Map<string, Gate>();
  const callers = new WeakMap<Binding, Caller>();
  /** Of each alias that there was: a workstream that is still set to one that left goes on to them. */
  const fallbacks = new Map<string, readonly string[]>();

  /** The first of each alias, and of the demo's none: that is always the demo. */
  function bound(): ReadonlyMap<string, Binding> {
    const all = new Map<string, Binding>();
    for (const binding of bindings.current().all)
      if (binding.alias !== demoAlias && !all.has(binding.alias)) all.set(binding.alias, binding);
    return all;
  }

  const bindingOf = (alias: string): Binding | undefined => bound().get(alias);

  function callerOf(binding: Binding): Caller {
    const there = callers.get(binding);
    if (there) return there;
    const made = createCaller({ clock }, binding);
    callers.set(binding, made);
    return made;
  }

  function gateOf({ alias, concurrency }: Binding): Gate {
    const there = gates.get(alias);
    if (there) return there;
    const made = createGate(concurrency);
    gates.set(alias, made);
    return made;
  }

  /** Whom to ask, in order: the model itself, then its fallbacks, and of these the ones that rest last. */
  function lanesOf({ model, givenUp }: ModelRequest): readonly string[] {
    const lanes = [model.alias, ...(fallbacks.get(model.alias) ?? [])].filter((a) => !givenUp.includes(a));
    const now = clock.now();
    const rests = (alias: string): boolean => {
      const binding = bindingOf(alias);
      return binding !== undefined && health.rests(binding, now);
    };
    return [...lanes.filter((alias) => !rests(alias)), ...lanes.filter(rests)];
  }

  async function attempt(
    request: ModelRequest,
    lane: string,
    signal: AbortSignal,
    onEvent: (event: ModelEvent) => void,
  ): Promise<Attempted> {
    if (lane === demoAlias) return callDemo(deps, request, signal, onEvent);
    const found = bindingOf(lane);
    if (!found) return unknownAlias(lane, list());
    const gate = gateOf(found);
    let waited = false;
    const wanted = new AbortController();
    const over = request.yields ? AbortSignal.any([signal, wanted.signal]) : signal;
    const leave = await gate.enter(
      over,
      (ahead) => {
        waited = true;
        onEvent({ type: 'notice', code: 'MODEL_WAITING', message: waitingFor(found, ahead) });
      },
      request.yields ? () => wanted.abort() : undefined,
    );
    if (!leave) return { type: 'aborted' };
    try {
      // It may have been replaced, or taken away, while this one waited.
      const binding = bindingOf(lane);
      if (!binding) return unknownAlias(lane, list());
      if (waited)
        onEvent({ type: 'notice', code: 'MODEL_ASKED', message: `"${lane}" has a slot and is asked.` });
      const { temperature, effort } = request.model;
      const outcome = await callerOf(binding).call(
        {
          messages: request.messages,
          tools: request.tools,
          temperature: temperature ?? binding.temperature,
          effort: effortFor(effort ?? binding.effort, binding.traits.efforts),
          ...(request.maxOutput !== undefined && { maxOutput: request.maxOutput }),
        },
        over,
        onEvent,
      );
      learn(binding, outcome);
      return outcome;
    } finally {
      leave();
    }
  }

  function learn(binding: Binding, outcome: Attempted): void {
    if (outcome.type === 'aborted') return;
    if (outcome.type === 'answered' || outcome.accepted) {
      health.succeeded(binding);
      deps.onAccepted?.(binding);
    } else health.failed(binding, outcome.kind, outcome.message, clock.now());
  }

  function list(): readonly ModelInfo[] {
    const { default: byDefault } = bindings.current();
    const models = [...bound().values()].map((binding) => ({
      ...infoOf(binding),
      isDefault: binding.alias === byDefault,
      health: health.stateOf(binding),
      problem: health.problemOf(binding),
      window: binding.window ?? bindings.windowOf(binding),
      inUse: gates.get(binding.alias)?.inUse() ?? 0,
      waiting: gates.get(binding.alias)?.waiting() ?? 0,
    }));
    return [
      ...models.filter((model) => model.isDefault),
      ...models.filter((model) => !model.isDefault),
      { ...demoModel, isDefault: !models.some((model) => model.isDefault) },
    ];
  }

  /**
   * Gates become as wide as the settings say. Who waits for an alias that left has nothing to wait for, and goes on to its
   * fallbacks.
   */
  function takeOver(): void {
    const now = bound();
    for (const [alias, binding] of now) fallbacks.set(alias, binding.fallbacks);
    for (const [alias, gate] of gates) gate.resize(now.get(alias)?.concurrency ?? null);
    health.keep(new Set([...now.values()].map(({ endpoint }) => endpoint.baseUrl)));
  }

  takeOver();
  bindings.onChange(takeOver);
  return {
    async call(request, signal, onEvent) {
      const lanes = lanesOf(request);
      const lane = request.lane ?? lanes[0] ?? request.model.alias;
      if (request.lane === null && lane !== request.model.alias)
        onEvent({ type: 'notice', code: 'MODEL_FALLBACK', message: inPlaceOf(request.model.alias, lane) });
      const asked = bindingOf(lane);
      const giveBack = asked && health.asked(asked, clock.now());
      const outcome = await attempt(request, lane, signal, onEvent);
      if (outcome.type === 'aborted') giveBack?.();
      if (outcome.type !== 'failed') return outcome;
      const { kind, status, accepted, retryAfterMs, message } = outcome;
      const { workstreamId: workstream } = request;
      // The sentence holds no credential and at most a line of what the endpoint said; the person reads the same.
      log.warn(
        { workstream, alias: lane, kind, status, accepted, retryAfterMs, sentence: message },
        'model call failed',
      );
      return { ...outcome, othersLeft: lanes.some((other) => other !== lane) };
    },
    list,
  };
}

const infoOf = (binding: Binding) => ({
  alias: binding.alias,
  description: `${binding.model} at ${binding.endpoint.host}`,
  demo: false,
  maxOutput: binding.maxOutput,
  concurrency: binding.concurrency,
  fallbacks: binding.fallbacks,
  temperature: binding.temperature,
  effort: binding.effort,
  efforts: binding.traits.efforts,
  vision: binding.traits.vision,
  reasoning: binding.traits.reasoning,
  price: binding.price,
});

function waitingFor({ alias, concurrency }: Binding, ahead: number): string {
  const calls = concurrency === 1 ? 'one call' : `${concurrency} calls`;
  const before =
    ahead === 0 ? 'this one is next' : `${ahead} more ${ahead === 1 ? 'is' : 'are'} before this one`;
  return `Waiting for a slot: "${alias}" takes ${calls} at a time, and ${before}.`;
}

const inPlaceOf = (alias: string, lane: string): string => `"${lane}" is asked in place of "${alias}".`;

/** Workstreams keep the alias they were made with; the settings may have changed since. */
function unknownAlias(alias: string, models: readonly ModelInfo[]): Attempted {
  const known = models.map((model) => `"${model.alias}"`).join(', ');
  return {
    type: 'failed',
    kind: 'NOT_FOUND',
    alias,
    accepted: false,
    message: `The model "${alias}" of this workstream is not set up on this server any more: choose another one for it (${known}), or set it up again.`,
    retryAfterMs: null,
  };
}
