/**
 * Owns: two people with a token each, what they asked for and what they were told. An intent has one key; it is
 * repeated, to any process, until it is durable or refused for good, and now and then after that.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Viewer } from 'schema/model';
import type { Services } from 'schema/services';
import { marksIn, type JournalLaws } from './journal-laws.ts';
import type { Violate } from './laws.ts';
import type { Node } from './node.ts';
import type { Process, Scheduler } from './scheduler.ts';

type Input =
  | { readonly type: 'send'; readonly text: string }
  | { readonly type: 'stop'; readonly turnId: string | null }
  | { readonly type: 'resumeQueue' }
  | {
      readonly type: 'decide';
      readonly cycleId: string;
      readonly callId: string;
      readonly argumentsHash: string;
      readonly verdict: 'APPROVED' | 'DENIED';
      readonly feedback: string | null;
    }
  | { readonly type: 'create' };

export interface Intent {
  readonly by: Viewer;
  readonly key: string;
  readonly input: Input;
  /** Another intent's key was taken for this one, which must come to nothing. */
  readonly stolen: boolean;
  /** What was answered as durable; null until then. */
  told: Readonly<Record<string, unknown>> | null;
  /** Refused for good: the person gives it up. */
  refused: boolean;
  /** The last word was that the queue is full. */
  full: boolean;
  /** The workstream it was about is not there any more. */
  void: boolean;
  /** Processes that have a copy and have not answered it. */
  underway: readonly Process[];
}

export interface People {
  readonly intents: readonly Intent[];
  want(by: Viewer, input: Input): Intent;
  /** The same key with another input. */
  steal(from: Intent): Intent;
  ask(intent: Intent, node: Node): void;
  nextMark(by: Viewer): string;
  /** What everybody was told still holds. */
  check(): void;
  /** The workstream was deleted. */
  forget(): void;
}

type Answer = {
  readonly type: string;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly durability?: string;
};

export function createPeople(deps: {
  readonly laws: JournalLaws;
  readonly violate: Violate;
  readonly scheduler: Scheduler;
  readonly workstreamId: () => string;
  note(what: string): void;
}): People {
  const { laws, violate, scheduler, note } = deps;
  const intents: Intent[] = [];
  const marks = { ada: 0, bob: 0 };
  let replaced = false;

  const scopeOf = ({ by, input }: Intent): string =>
    input.type === 'create' ? by.id : `${by.id}/${deps.workstreamId()}`;

  /** What the database holds under the intent's key; a Stop that could not look has a place of its own. */
  const recorded = (intent: Intent): readonly Readonly<Record<string, unknown>>[] =>
    [intent.key, ...(intent.input.type === 'stop' ? [`${intent.key}.unseen`] : [])].flatMap((key) =>
      laws.receipts(scopeOf(intent), key).map((receipt) => receipt.outcome),
    );

  function want(by: Viewer, input: Input, key = `k${intents.length + 1}`, stolen = false): Intent {
    const intent: Intent = {
      by,
      key,
      input,
      stolen,
      told: null,
      refused: false,
      void: false,
      full: false,
      underway: [],
    };
    intents.push(intent);
    return intent;
  }

  function heard(
    intent: Intent,
    answer: Answer,
    known: readonly Readonly<Record<string, unknown>>[],
    who: string,
  ): void {
    const what = `${intent.by.id}'s ${intent.input.type} ${intent.key}`;
    note(`${what} is answered by ${who}: ${answer.code ?? answer.durability}`);
    if (intent.void) return;
    // Who owned what was deleted does not know what was made in its place.
    if (replaced && answer.code === 'WORKSTREAM_NOT_FOUND') return;
    intent.full = answer.code === 'QUEUE_FULL';
    if (answer.type === 'Rejected') {
      if (answer.retryable) return;
      if (intent.stolen) return void (intent.refused = true);
      if (known.length > 0) violate('I18', `${what} was recorded, and is refused now: ${answer.code}`);
      const others = intent.underway.some((process) => process.alive);
      if (!others && intent.told === null) intent.refused = true;
      return;
    }
    if (intent.stolen) violate('I19', `${what} with another input was accepted`);
    const { durability, ...acceptance } = answer as Answer & Readonly<Record<string, unknown>>;
    if (durability !== 'DURABLE') return;
    const now = recorded(intent);
    const plain = intent.input.type === 'create' ? { workstreamId: acceptance['workstreamId'] } : acceptance;
    if (now.length === 0) violate('I11', `${what} is called durable, and nothing is recorded`);
    else if (!now.some((outcome) => isDeepStrictEqual(outcome, JSON.parse(JSON.stringify(plain)))))
      violate('I18', `${what} is answered otherwise than it is recorded`);
    if (intent.told && intent.input.type !== 'stop' && !isDeepStrictEqual(intent.told, acceptance))
      violate('I18', `${what} is answered otherwise than before`);
    intent.told ??= acceptance;
  }

  function call(services: Services, intent: Intent): Promise<Answer> {
    const { by, key, input } = intent;
    const workstreamId = deps.workstreamId();
    switch (input.type) {
      case 'send':
        return services.messages.send(by, { key, workstreamId, text: input.text });
      case 'stop':
        return services.turns.stop(by, { key, workstreamId, turnId: input.turnId });
      case 'resumeQueue':
        return services.messages.resumeQueue(by, { key, workstreamId });
      case 'decide': {
        const { type: _, ...decision } = input;
        return services.approvals.decide(by, { key, workstreamId, ...decision });
      }
      case 'create':
        return services.workstreams.create(by, { key, title: key, model: null, workspace: null });
    }
  }

  return {
    intents,
    want,
    steal(from) {
      const input: Input = {
        type: 'send',
        text: `m${1_000_000 + intents.length * 2 + (from.by.id === 'ada' ? 0 : 1)};`,
      };
      return want(from.by, input, from.key, true);
    },
    ask(intent, node) {
      const { process } = node;
      const services = node.up?.services;
      if (!services) return;
      intent.underway = [...intent.underway, process];
      const title = `${intent.by.id} asks ${process.name}: ${intent.key} ${describe(intent.input)}`;
      scheduler.later(process, title, () => {
        const known = recorded(intent);
        call(services, intent).then(
          (answer) => {
            const copy = intent.underway.indexOf(process);
            intent.underway = intent.underway.filter((_, i) => i !== copy);
            // Who died answers nobody.
            if (process.alive) heard(intent, answer, known, process.name);
          },
          (error: unknown) => violate('D-71', `${intent.input.type} broke: ${String(error)}`),
        );
      });
    },
    nextMark(by) {
      const who = by.id === 'ada' ? 'ada' : 'bob';
      marks[who] += 1;
      return `m${marks[who] * 2 + (who === 'ada' ? 0 : 1)};`;
    },
    check() {
      const places = laws.places(deps.workstreamId());
      for (const intent of intents) {
        if (intent.void || intent.input.type !== 'send') continue;
        for (const mark of marksIn(intent.input.text)) {
          if (intent.told && places.get(mark) !== 1)
            violate('I11', `${mark} was called durable, and is in ${places.get(mark) ?? 0} places`);
          if (intent.stolen && places.has(mark))
            violate('I19', `${mark} was sent under a used key, and is there`);
        }
      }
    },
    forget() {
      replaced = true;
      for (const intent of intents) intent.void = true;
    },
  };
}

/** What is on the disk is explained by what somebody asked for. */
export function explainedBy(people: People, laws: JournalLaws, workstreamId: string, violate: Violate): void {
  const { intents } = people;
  const latched = new Set<string>();
  for (const entry of laws.book(workstreamId)?.entries ?? []) {
    if (entry.kind === 'TURN' && entry.turn.phase === 'INTERRUPTING' && !latched.has(entry.turn.id)) {
      const { id } = entry.turn;
      latched.add(id);
      const asked = intents.some(({ input }) => input.type === 'stop' && (input.turnId ?? id) === id);
      if (!asked) violate('I23', `turn ${id} was stopped, and nobody asked`);
    }
    if (entry.kind !== 'APPROVAL') continue;
    for (const { callId, argumentsHash, decision } of entry.cycle.items) {
      if (!decision) continue;
      const asked = intents.some(
        ({ by, input }) =>
          input.type === 'decide' &&
          input.callId === callId &&
          input.argumentsHash === argumentsHash &&
          input.verdict === decision.verdict &&
          by.id === decision.by.id,
      );
      if (!asked) violate('I41', `${callId} is ${decision.verdict}, and ${decision.by.id} did not say so`);
    }
  }
}

function describe(input: Input): string {
  switch (input.type) {
    case 'send':
      return `send ${input.text}`;
    case 'stop':
      return `stop ${input.turnId ?? 'whatever runs'}`;
    case 'decide':
      return `${input.verdict} ${input.callId}`;
    default:
      return input.type;
  }
}
