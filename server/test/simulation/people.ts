/**
 * Owns: two people with a token each, what they asked for and what they were told. An intent has one key; it is
 * repeated, to any process, until it is durable or refused for good, and now and then after that.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Viewer } from 'schema/model';
import { applyEntry, emptyProjection, type ApprovalMode, type ModelChoice } from 'schema/projection';
import type { Services } from 'schema/services';
import type { Command } from '../../src/core/inputs.ts';
import { waits } from '../app/support/world.ts';
import { marksIn, type JournalLaws } from './journal-laws.ts';
import type { Violate } from './laws.ts';
import type { Node } from './node.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** What a person asks for: the core's own commands, but for closing, naming and watches, which no life here does; or a workstream. */
export type Input =
  | Exclude<
      Command,
      {
        readonly type:
          'configure' | 'close' | 'open' | 'noteDiscarded' | 'createWatch' | 'editWatch' | 'changeWatch';
      }
    >
  | {
      readonly type: 'configure';
      readonly approvalMode?: ApprovalMode;
      readonly model?: ModelChoice;
      readonly instructions?: string;
      readonly tokenBudget?: number;
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
  /** The last word was that it cannot be done now: the queue is full, a turn runs, there is nothing to summarise. */
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

  /** What was written under the intent's key: one answer, and perhaps those of a Stop that could not look. */
  const recorded = (intent: Intent): readonly Readonly<Record<string, unknown>>[] =>
    laws.receipts(scopeOf(intent), intent.key).map((receipt) => receipt.outcome);

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
    intent.full = notNow.has(answer.code ?? '');
    if (answer.type === 'Rejected') {
      if (answer.retryable) return;
      if (intent.stolen) return void (intent.refused = true);
      // What was decided on a question that is gone is told from elsewhere.
      const isKnown = ({ code }: Readonly<Record<string, unknown>>): boolean =>
        code === answer.code || (code === 'APPROVAL_GONE' && answer.code === 'ALREADY_DECIDED');
      if (known.length > 0 && !known.some(isKnown))
        violate('I18', `${what} was recorded, and is refused now: ${answer.code}`);
      if (!neverRecorded.has(answer.code ?? '') && !recorded(intent).some(isKnown))
        violate('I11', `${what} is refused for good, and that is not recorded: ${answer.code}`);
      const others = intent.underway.some((process) => process.alive);
      if (!others && intent.told === null) intent.refused = true;
      return;
    }
    const { durability, ...acceptance } = answer as Answer & Readonly<Record<string, unknown>>;
    // Who is cut off and does not know that it was robbed cannot know the key: what it calls pending never lands.
    if (durability !== 'DURABLE') return;
    if (intent.stolen) violate('I19', `${what} with another input was accepted`);
    const now = recorded(intent);
    const plain = intent.input.type === 'create' ? { workstreamId: acceptance['workstreamId'] } : acceptance;
    if (now.length === 0) violate('I11', `${what} is called durable, and nothing is recorded`);
    else if (!now.some((outcome) => isDeepStrictEqual(outcome, JSON.parse(JSON.stringify(plain)))))
      violate('I18', `${what} is answered otherwise than it is recorded`);
    if (intent.told && intent.input.type !== 'stop' && !isDeepStrictEqual(intent.told, acceptance))
      violate('I18', `${what} is answered otherwise than before`);
    const { input } = intent;
    if (input.type === 'send' && input.delivery === 'STEER' && acceptance['turnId'] !== input.turnId)
      violate('I23', `${what} was meant for ${input.turnId} and went to ${String(acceptance['turnId'])}`);
    intent.told ??= acceptance;
  }

  function call(services: Services, intent: Intent): Promise<Answer> {
    const { by, key, input } = intent;
    const workstreamId = deps.workstreamId();
    switch (input.type) {
      case 'send':
        return services.messages.send(by, { key, workstreamId, ...fields(input) });
      case 'editQueued':
        return services.messages.editQueued(by, { key, workstreamId, ...fields(input) });
      case 'withdrawQueued':
        return services.messages.withdrawQueued(by, { key, workstreamId, ...fields(input) });
      case 'stop':
        return services.turns.stop(by, { key, workstreamId, ...fields(input) });
      case 'rewind':
        return services.messages.rewind(by, { key, workstreamId, ...fields(input) });
      case 'resend':
        return services.messages.resend(by, { key, workstreamId, ...fields(input) });
      case 'retry':
        return services.turns.retry(by, { key, workstreamId, ...fields(input) });
      case 'configure':
        return services.workstreams.configure(by, {
          key,
          workstreamId,
          title: null,
          approvalMode: null,
          model: null,
          instructions: null,
          tokenBudget: null,
          ...fields(input),
        });
      case 'compact':
        return services.workstreams.compact(by, { key, workstreamId });
      case 'resumeQueue':
        return services.messages.resumeQueue(by, { key, workstreamId });
      case 'decide':
        return services.approvals.decide(by, { key, workstreamId, ...fields(input) });
      case 'create':
        return services.workstreams.create(
          by,
          {
            key,
            title: key,
            model: null,
            temperature: null,
            effort: null,
            workspace: null,
            approvalMode: null,
            instructions: null,
            tokenBudget: null,
          },
          waits,
        );
    }
  }

  return {
    intents,
    want,
    steal(from) {
      const input: Input = {
        type: 'send',
        text: `m${1_000_000 + intents.length * 2 + (from.by.id === 'ada' ? 0 : 1)};`,
        delivery: 'QUEUE',
        turnId: null,
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
        if (intent.void || !('text' in intent.input)) continue;
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

/** Refusals of what no workstream could record. */
const neverRecorded: ReadonlySet<string> = new Set(['INVALID_INPUT', 'KEY_REUSED', 'WORKSTREAM_NOT_FOUND']);

const notNow: ReadonlySet<string> = new Set(['QUEUE_FULL', 'BUSY', 'NOTHING_TO_COMPACT']);

function fields<T extends Input>({ type: _, ...rest }: T): Omit<T, 'type'> {
  return rest;
}

/** Which commands take something back, by the reason that is written. */
const goesBack = { REWIND: 'rewind', EDIT: 'resend', RETRY: 'retry' } as const;

/** What is on the disk is explained by what somebody asked for. */
export function explainedBy(people: People, laws: JournalLaws, workstreamId: string, violate: Violate): void {
  const { intents } = people;
  const latched = new Set<string>();
  const itemIds = new Map<string, string>();
  let fold = emptyProjection;
  for (const entry of laws.book(workstreamId)?.entries ?? []) {
    const before = fold;
    fold = applyEntry(fold, entry);
    const byHand = entry.kind === 'TURN' && entry.turn.kind === 'COMPACT' && entry.turn;
    if (byHand && !intents.some(({ by, input }) => input.type === 'compact' && by.id === byHand.principal.id))
      violate('I23', `turn ${byHand.id} summarises, and nobody asked`);
    if (entry.kind === 'TURN' && entry.turn.phase === 'INTERRUPTING' && !latched.has(entry.turn.id)) {
      const { id } = entry.turn;
      latched.add(id);
      const asked = intents.some(({ input }) => input.type === 'stop' && (input.turnId ?? id) === id);
      if (!asked) violate('I23', `turn ${id} was stopped, and nobody asked`);
    }
    if (entry.kind === 'QUEUE')
      for (const { id, text } of entry.queue.items)
        for (const mark of marksIn(text)) itemIds.set(mark, itemIds.get(mark) ?? id);
    if (entry.kind === 'USER' && entry.source === 'STEER')
      for (const mark of marksIn(entry.text)) {
        // An edit leaves a steer what it was.
        const asked = intents.some(
          ({ input }) =>
            (input.type === 'send' &&
              input.delivery === 'STEER' &&
              input.turnId === entry.turnId &&
              input.text.includes(mark)) ||
            (input.type === 'editQueued' && input.text.includes(mark)),
        );
        if (!asked) violate('I23', `${mark} steered turn ${entry.turnId}, and was not meant for it`);
      }
    if (entry.kind === 'REWIND') {
      const seen = before.turn?.id ?? null;
      const asked = intents.some(
        ({ by, input }) =>
          input.type === goesBack[entry.reason] && input.turnId === seen && by.id === entry.by.id,
      );
      if (!asked) violate('I23', `${entry.reason} at ${entry.revision} by nobody who had seen turn ${seen}`);
    }
    if (entry.kind !== 'APPROVAL') continue;
    for (const { callId, argumentsHash, decision } of entry.cycle.items) {
      if (decision?.source !== 'PERSON') continue;
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
  for (const mark of laws.withdrawn(workstreamId)) {
    const asked = intents.some(
      ({ input }) =>
        (input.type === 'withdrawQueued' || input.type === 'editQueued') &&
        input.messageId === itemIds.get(mark),
    );
    if (!asked) violate('I21', `${mark} was withdrawn, and nobody asked`);
  }
}

function describe(input: Input): string {
  switch (input.type) {
    case 'send':
      return `send ${input.delivery === 'QUEUE' ? '' : `${input.delivery} `}${input.text}`;
    case 'editQueued':
      return `editQueued ${input.messageId} to ${input.text}`;
    case 'stop':
      return `${input.force ? 'force' : 'stop'} ${input.turnId ?? 'whatever runs'}`;
    case 'rewind':
    case 'resend':
      return `${input.type} ${input.messageId}, having seen ${input.turnId}`;
    case 'retry':
      return `retry ${input.from}, having seen ${input.turnId}`;
    case 'configure':
      return `configure ${JSON.stringify(fields(input)).slice(0, 60)}`;
    case 'decide':
      return `${input.verdict} ${input.callId}`;
    default:
      return input.type;
  }
}
