/**
 * Owns: a random life of one workstream: people who write, decide and stop; a model and tools that answer, fail or
 * report late; a database that is slow to acknowledge; repeats of what was said before; lost processes.
 *
 * A move that has nothing to act on does nothing, so that any sequence is a life, and a shorter one too (shrinking).
 */
import fc from 'fast-check';
import {
  isStopping,
  liveTurn,
  openItems,
  type ApprovalMode,
  type Finish,
  type ToolEffect,
} from 'schema/projection';
import type {
  Command,
  CommandKey,
  Input,
  Stamp,
  SummaryOutcome,
  World as Event,
} from '../../../src/core/inputs.ts';
import { usedOf } from '../../../src/core/context/meter.ts';
import type { FaultKind, ModelFault } from '../../../src/core/models/fault.ts';
import {
  ann,
  bob,
  createWorld,
  declaration,
  prepared,
  type PreparedKind,
  type Provider,
  type Watcher,
  type World,
} from './world.ts';

export type Move =
  | {
      readonly do: 'send';
      readonly by: 'ann' | 'bob';
      readonly tail: string;
      readonly times: number;
      readonly delivery: 'QUEUE' | 'STEER' | 'REJECT';
      readonly guard: 'live' | 'stale';
    }
  | {
      readonly do: 'change';
      readonly by: 'ann' | 'bob';
      readonly pick: number;
      /** Null: it is withdrawn. */
      readonly tail: string | null;
    }
  | { readonly do: 'stop'; readonly guard: 'any' | 'live' | 'stale'; readonly force: boolean }
  | {
      readonly do: 'goBack';
      readonly by: 'ann' | 'bob';
      readonly how: 'rewind' | 'resend' | 'retry' | 'retryResult';
      readonly pick: number;
      readonly tail: string;
      readonly guard: 'last' | 'stale';
    }
  | { readonly do: 'configure'; readonly by: 'ann' | 'bob'; readonly mode: ApprovalMode }
  | { readonly do: 'choose'; readonly by: 'ann' | 'bob'; readonly alias: string }
  /** What the call that is asked says of its slot. */
  | { readonly do: 'slot'; readonly says: 'MODEL_WAITING' | 'MODEL_ASKED' }
  | { readonly do: 'resumeQueue' | 'open' }
  /** WHOLE: as the server does it. DOOR: shut, and no last word. WORD: the last word alone. */
  | { readonly do: 'close'; readonly how: 'WHOLE' | 'DOOR' | 'WORD' }
  | { readonly do: 'openDoor' }
  | ({ readonly do: 'provider' } & Provider)
  /** 0: none. */
  | { readonly do: 'budget'; readonly by: 'ann' | 'bob'; readonly tokens: number }
  | { readonly do: 'instruct'; readonly by: 'ann' | 'bob'; readonly text: string }
  | { readonly do: 'compact'; readonly by: 'ann' | 'bob'; readonly reads: boolean }
  | { readonly do: 'summary'; readonly outcome: 'SHORT' | 'LONG' | 'FAILED' | 'ABORTED' }
  | { readonly do: 'readForSummary'; readonly answered: boolean }
  /** The calls that run fill the context nearly, and the model does as it is advised. */
  | { readonly do: 'windDown' }
  | { readonly do: 'rename'; readonly by: 'ann' | 'bob'; readonly title: string }
  | { readonly do: 'suggest'; readonly title: string | null }
  /** Left memory and came back, with its history or without. */
  | { readonly do: 'reload'; readonly lazily: boolean }
  /** What lies below is read: for the live turn, or for nobody. */
  | { readonly do: 'read'; readonly forTurn: boolean }
  | {
      readonly do: 'decide';
      readonly pick: number;
      readonly by: 'ann' | 'bob';
      readonly verdict: 'APPROVED' | 'DENIED';
      readonly feedback: string | null;
      readonly twist: 'none' | 'hash' | 'cycle' | 'again';
    }
  | { readonly do: 'repeatCommand'; readonly pick: number; readonly other: boolean }
  | { readonly do: 'piece'; readonly text: string; readonly reasoning: string }
  | { readonly do: 'answer'; readonly text: string; readonly calls: number; readonly finish: Finish }
  | {
      readonly do: 'fail';
      readonly fault: Pick<ModelFault, 'kind' | 'accepted' | 'othersLeft' | 'retryAfterMs'>;
    }
  | { readonly do: 'abort' }
  | { readonly do: 'prepare'; readonly kinds: readonly PreparedKind[]; readonly some: number }
  | { readonly do: 'output'; readonly pick: number; readonly text: string }
  | {
      readonly do: 'end';
      readonly pick: number;
      readonly ok: boolean;
      readonly effect: ToolEffect;
      /** Of what it puts out; null: as many as fill the context nearly. */
      readonly words: number | null;
    }
  | { readonly do: 'waitOver' | 'stopOverdue' | 'commit' | 'acknowledge' | 'store' | 'repeatAck' }
  | {
      readonly do: 'crash';
      readonly times: number;
      readonly landed: boolean;
      readonly lazily: boolean;
    }
  /** Whatever is due, one of these; else what was accepted is stored. */
  | {
      readonly do: 'goOn';
      readonly answer: Move;
      readonly prepare: Move;
      readonly decide: Move;
      readonly end: Move;
      readonly summary: Move;
      /** What becomes of a turn that is stopping, instead of its work coming to an end. */
      readonly stopping: Move | null;
    }
  | { readonly do: 'replay'; readonly pick: number }
  /** A report about what is under way now, but under a claim that is not current. */
  | { readonly do: 'oldClaim'; readonly pick: number; readonly off: { epoch: number; generation: number } };

/** Text a hostile or careless world may send: markup, NUL, halves of pairs, many lines. */
const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('yes', 'a\nb', '') },
  { weight: 1, arbitrary: fc.constantFrom('nul\0', 'half \ud800', '\udc00 half', '😀', '</x>', '__proto__') },
  // What fills a context of a few hundred tokens.
  { weight: 2, arbitrary: fc.constantFrom(40, 120, 400).map((words) => 'word '.repeat(words)) },
);
const pick = fc.nat(7);
const who = fc.constantFrom('ann' as const, 'ann' as const, 'bob' as const);
const kind = fc.constantFrom<PreparedKind>('read', 'read', 'write', 'write', 'execute', 'invalid');
const just = (name: Move['do']): fc.Arbitrary<Move> => fc.constant({ do: name } as Move);

const decision = fc.record({
  do: fc.constant('decide' as const),
  pick,
  by: who,
  verdict: fc.constantFrom('APPROVED' as const, 'APPROVED' as const, 'DENIED' as const),
  feedback: fc.option(text, { nil: null }),
  twist: fc.constantFrom(
    'none' as const,
    'none' as const,
    'none' as const,
    'hash' as const,
    'cycle' as const,
    'again' as const,
  ),
});
const answering = fc.record({
  do: fc.constant('answer' as const),
  text,
  calls: fc.constantFrom(0, 0, 1, 1, 2, 3, 6),
  finish: fc.constantFrom<Finish>('STOP', 'TOOL_CALLS', 'STOP', 'TOOL_CALLS', 'LENGTH', 'OTHER'),
});
const preparation = fc.record({
  do: fc.constant('prepare' as const),
  kinds: fc.array(kind, { minLength: 1, maxLength: 6 }),
  some: fc.constantFrom(9, 9, 9, 1),
});
const ending = fc.record({
  do: fc.constant('end' as const),
  pick,
  ok: fc.boolean(),
  effect: fc.constantFrom<ToolEffect>('NONE', 'COMMITTED', 'PARTIAL', 'ROLLED_BACK', 'UNKNOWN'),
  words: fc.constantFrom(1, 60, 200, 400, 2_000, null, null),
});
const summarising = fc.record({
  do: fc.constant('summary' as const),
  outcome: fc.constantFrom('SHORT', 'SHORT', 'SHORT', 'LONG', 'FAILED', 'ABORTED'),
});
const provider = fc.record({
  do: fc.constant('provider' as const),
  window: fc.constantFrom(null, 300, 600, 1_200, 2_500, 2_500),
  overhead: fc.constantFrom(0, 20, 90),
  factor: fc.constantFrom(0.6, 1, 1, 1.3, 2),
  counts: fc.constantFrom<Provider['counts'][]>(
    ...([
      'HONESTLY',
      'HONESTLY',
      'NOTHING',
      'ZEROS',
      'ABSURDLY',
      'ABSURDLY_LITTLE',
      'NEARLY_FULL',
      'FULL',
    ] as const),
  ),
});

const moves: readonly fc.WeightedArbitrary<Move>[] = [
  {
    weight: 60,
    arbitrary: fc.record({
      do: fc.constant('goOn' as const),
      answer: answering,
      prepare: preparation,
      decide: decision,
      end: ending,
      summary: summarising,
      stopping: fc.constantFrom<Move | null>(
        null,
        { do: 'stopOverdue' },
        { do: 'crash', times: 1, landed: true, lazily: true },
      ),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      by: who,
      tail: text,
      times: fc.constantFrom(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 21),
      delivery: fc.constantFrom('QUEUE' as const, 'QUEUE' as const, 'STEER' as const, 'REJECT' as const),
      guard: fc.constantFrom('live' as const, 'live' as const, 'live' as const, 'stale' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      by: who,
      pick,
      tail: fc.option(text, { nil: null, freq: 2 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant('goBack' as const),
      by: who,
      how: fc.constantFrom('rewind' as const, 'resend' as const, 'retry' as const, 'retryResult' as const),
      pick,
      tail: text,
      guard: fc.constantFrom('last' as const, 'last' as const, 'last' as const, 'stale' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('configure' as const),
      by: who,
      mode: fc.constantFrom<ApprovalMode>('ASK', 'ASK', 'TRUST_WORKSPACE', 'TRUST_ALL'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('choose' as const),
      by: who,
      alias: fc.constantFrom('test', 'other', 'third'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('slot' as const),
      says: fc.constantFrom('MODEL_WAITING' as const, 'MODEL_WAITING' as const, 'MODEL_ASKED' as const),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('stop' as const),
      guard: fc.constantFrom('any' as const, 'live' as const, 'live' as const, 'stale' as const),
      force: fc.constantFrom(false, false, true),
    }),
  },
  { weight: 2, arbitrary: just('resumeQueue') },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('close' as const),
      how: fc.constantFrom('WHOLE' as const, 'WHOLE' as const, 'DOOR' as const, 'WORD' as const),
    }),
  },
  { weight: 1, arbitrary: provider },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('budget' as const),
      by: who,
      tokens: fc.constantFrom(0, 0, 1, 1_000, 4_000, 10_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('instruct' as const), by: who, text }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('compact' as const),
      by: who,
      reads: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 2, arbitrary: summarising },
  { weight: 16, arbitrary: just('windDown') },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('readForSummary' as const),
      answered: fc.constantFrom(true, true, true, false),
    }),
  },
  { weight: 1, arbitrary: just('open') },
  { weight: 1, arbitrary: just('openDoor') },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('rename' as const), by: who, title: text }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('suggest' as const), title: fc.option(text, { nil: null }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('reload' as const), lazily: fc.constantFrom(true, true, false) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('read' as const), forTurn: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: decision,
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('repeatCommand' as const), pick, other: fc.boolean() }),
  },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('piece' as const), text, reasoning: text }) },
  {
    weight: 10,
    arbitrary: answering,
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('fail' as const),
      fault: fc.record({
        kind: fc.constantFrom<FaultKind[]>(
          ...([
            'OVERLOADED',
            'OVERLOADED',
            'MALFORMED',
            'AUTHENTICATION',
            'REFUSAL',
            'CONTEXT_OVERFLOW',
          ] as const),
        ),
        accepted: fc.boolean(),
        othersLeft: fc.boolean(),
        retryAfterMs: fc.option(fc.nat(200_000), { nil: null }),
      }),
    }),
  },
  { weight: 1, arbitrary: just('abort') },
  {
    weight: 9,
    arbitrary: preparation,
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('output' as const), pick, text }) },
  {
    weight: 9,
    arbitrary: ending,
  },
  { weight: 3, arbitrary: just('waitOver') },
  { weight: 5, arbitrary: just('stopOverdue') },
  { weight: 3, arbitrary: just('commit') },
  { weight: 3, arbitrary: just('acknowledge') },
  { weight: 12, arbitrary: just('store') },
  { weight: 1, arbitrary: just('repeatAck') },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      times: fc.constantFrom(1, 1, 3),
      landed: fc.boolean(),
      lazily: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('replay' as const), pick: fc.nat(200) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('oldClaim' as const),
      pick,
      off: fc.constantFrom(
        { epoch: -1, generation: 0 },
        { epoch: 0, generation: -1 },
        { epoch: 0, generation: 1 },
      ),
    }),
  },
];

/** A life of up to 120 moves; without fast-check's bias to short ones, in which little happens. */
export const life: fc.Arbitrary<readonly Move[]> = fc.noBias(
  fc
    .tuple(provider, fc.array(fc.oneof(...moves), { minLength: 1, maxLength: 120, size: 'max' }))
    .map(([first, more]) => [first, ...more]),
);

interface Said {
  readonly by: typeof ann;
  readonly command: Command;
  readonly key: CommandKey;
}

/** Lives it, then lets the world answer everything until it is quiet, and tells the watchers. */
export function live(lived: readonly Move[], ...watchers: readonly Watcher[]): World {
  const told: Input[] = [];
  const said: Said[] = [];
  const recorder: Watcher = {
    onStep: ({ timed: { input } }) => {
      if (input.type === 'world') told.push(input);
      if (input.type === 'command') said.push(input);
    },
  };
  const world = createWorld(recorder, ...watchers);
  for (const move of lived) make(world, move, told, said);
  bringToRest(world);
  world.finish();
  return world;
}

function make(w: World, move: Move, told: readonly Input[], said: readonly Said[]): unknown {
  const by = 'by' in move && move.by === 'bob' ? bob : ann;
  const at = <T>(list: readonly T[], i: number): T | undefined => list[i % Math.max(1, list.length)];
  switch (move.do) {
    case 'send':
      // Every message begins with a mark of its own, so that a law can find it again.
      for (let i = 0; i < move.times; i += 1) {
        const marked = `m${said.length};${move.tail}`;
        if (move.delivery !== 'STEER') w.send(marked, by, move.delivery);
        else if (move.guard === 'stale') w.steer(marked, by, 'a turn long gone');
        else w.steer(marked, by);
      }
      return null;
    case 'change': {
      const message = at(w.state.projection.queue.items, move.pick);
      if (!message) return null;
      return move.tail === null
        ? w.withdraw(message.id, by)
        : w.edit(message.id, `m${said.length};${move.tail}`, by);
    }
    case 'goBack':
      return goBack(w, move, by, `m${said.length};${move.tail}`);
    case 'configure':
      return w.configure(move.mode, by);
    case 'choose':
      return w.choose({ alias: move.alias, temperature: null, effort: null }, by);
    case 'slot': {
      const call = w.modelCalls[0];
      return call
        ? w.tell(call.stamp, {
            type: 'modelNotice',
            messageId: call.messageId,
            code: move.says,
            message: 'About a slot.',
          })
        : null;
    }
    case 'stop':
      return (move.force ? w.force : w.stop)(
        move.guard === 'any'
          ? null
          : move.guard === 'live'
            ? (liveTurn(w.state.projection)?.id ?? null)
            : 'a turn long gone',
      );
    case 'resumeQueue':
      return w.resumeQueue();
    case 'open':
      return w.open();
    case 'openDoor':
      return w.door(false);
    case 'close':
      if (move.how !== 'WORD') w.door(true);
      if (move.how === 'WHOLE') w.store();
      return move.how === 'DOOR' ? null : w.close();
    case 'provider': {
      const { window, overhead, factor, counts } = move;
      w.provider = { window, overhead, factor, counts };
      return null;
    }
    case 'budget':
      return w.budget(move.tokens, by);
    case 'instruct':
      return w.instruct(move.text, by);
    case 'compact':
      if (move.reads && w.state.conversationFrom > 0) w.read();
      return w.compact(by);
    case 'summary':
      return w.summaries.length > 0 ? w.summarised(summaries[move.outcome]) : null;
    case 'readForSummary':
      return w.readings.length > 0 ? w.readForSummary(move.answered) : null;
    case 'windDown': {
      const calls = w.running;
      if (calls.length === 0) return null;
      // One result has half of the window at most.
      const window =
        calls.length > 1 ? 2_500 : Math.max(900, Math.round(w.state.projection.context.told * 2.3));
      w.provider = { window, overhead: 0, factor: 1, counts: 'NOTHING' };
      const words = Math.floor(wordsLeft(w) / calls.length);
      for (const { call } of calls) w.end(call.callId, { content: 'word '.repeat(words) });
      w.store();
      return w.modelCalls.length > 0 && !w.overflows() ? w.answer({ text: 'Left to do: the rest.' }) : null;
    }
    case 'rename':
      return w.rename(move.title, by);
    case 'suggest':
      return w.titles.length > 0 ? w.suggest(move.title) : null;
    case 'reload':
      return w.reload(move.lazily);
    case 'read':
      return w.read(move.forTurn ? w.modelCalls[0]?.stamp : undefined);
    case 'decide':
      return decide(w, move, by, at);
    case 'repeatCommand': {
      const again = at(said, move.pick);
      if (!again) return null;
      const known = w.state.receipts.has(`${again.key.scope}\n${again.key.key}`);
      // A key that only the database knows is answered from there, before the actor is asked (D-60).
      if (!known && w.receipts.has(`${again.key.scope}\n${again.key.key}`)) return null;
      return w.command(again.by, again.command, {
        ...again.key,
        ...(known && move.other ? { inputHash: 'another' } : {}),
      });
    }
    case 'piece':
      return w.modelCalls.length > 0 ? w.piece(move.text, move.reasoning) : null;
    case 'answer':
      if (w.overflows()) return w.overflow();
      return w.modelCalls.length > 0
        ? w.answer({
            text: move.text,
            finish: move.finish,
            // Providers repeat their own ids; ours must not be made of them (D-35).
            calls: Array.from({ length: move.calls }, (_, i) => declaration(`tool${i % 2}`, move.text)),
          })
        : null;
    case 'fail':
      return w.modelCalls.length > 0 ? w.fail(move.fault) : null;
    case 'abort':
      return w.modelCalls.length > 0 ? w.endModel({ type: 'aborted' }) : null;
    case 'prepare': {
      const request = w.preparing[0];
      if (!request) return null;
      if (move.some > 1) return w.prepare(...move.kinds);
      // Only a part is known yet; the request stays and is answered whole later.
      const part = request.calls.slice(0, 1);
      return w.tell(request.stamp, {
        type: 'callsPrepared',
        calls: part.map(({ callId }) => ({ callId, prepared: prepared(move.kinds[0] ?? 'read', callId) })),
      });
    }
    case 'output': {
      const call = at(w.running, move.pick);
      return call ? w.output(call.call.callId, move.text) : null;
    }
    case 'end': {
      const call = at(w.running, move.pick);
      return call
        ? w.end(call.call.callId, {
            outcome: move.ok ? 'OK' : 'ERROR',
            effect: move.effect,
            content: 'word '.repeat(move.words ?? wordsLeft(w)),
          })
        : null;
    }
    case 'waitOver':
      return w.backoffs.length > 0 ? w.waitOver() : null;
    case 'stopOverdue':
      return w.stopWatches.length > 0 ? w.stopOverdue() : null;
    case 'commit':
      return w.commit();
    case 'acknowledge':
      return w.acknowledge();
    case 'store':
      return w.store();
    case 'repeatAck':
      return w.take({
        type: 'acknowledged',
        epoch: w.state.epoch,
        batch: w.state.durableBatches,
        through: w.state.durable.revision,
      });
    case 'crash':
      // Some of what was accepted had landed; what a recovery wrote too, or its count would be lost again.
      for (let i = 0; i < move.times; i += 1) {
        if (i > 0 || move.landed) w.commit();
        w.crash(move.lazily);
      }
      return null;
    case 'goOn': {
      const due = isStopping(w.state.projection) && move.stopping ? move.stopping : dueOf(w, move);
      return make(w, due, told, said);
    }
    case 'oldClaim': {
      const report = at(reports(w), move.pick);
      if (!report) return null;
      const { epoch, generation } = report.stamp;
      return w.tell(
        { epoch: epoch + move.off.epoch, generation: (generation ?? 0) + move.off.generation },
        report.event,
      );
    }
    case 'replay': {
      const again = at(told, move.pick);
      if (again?.type !== 'world') return null;
      const { event, stamp } = again;
      const current =
        stamp.epoch === w.state.epoch && stamp.generation === liveTurn(w.state.projection)?.generation;
      // What it cost is told once.
      const free = { type: 'world' as const, stamp, event };
      // Nobody sends a piece twice under a live claim: pieces have no names to know them by.
      if (current && pieces.has(event.type)) return null;
      return w.take(free);
    }
  }
}

const summaries: Readonly<
  Record<Extract<Move, { readonly do: 'summary' }>['outcome'], string | SummaryOutcome>
> = {
  SHORT: 'In short.',
  LONG: 'word '.repeat(3_000),
  FAILED: { type: 'failed', reason: 'EMPTY_SUMMARY', message: 'It had nothing to say.' },
  ABORTED: { type: 'aborted' },
};

const pieces: ReadonlySet<Event['type']> = new Set([
  'modelDelta',
  'modelNotice',
  'summaryNotice',
  'toolOutput',
]);

/** Words that fill the context to between the two thresholds. */
function wordsLeft(w: World): number {
  const { window, overhead } = w.provider ?? {};
  const { context } = w.state.projection;
  if (!window) return 1;
  const used = usedOf({ ...context, overhead: overhead ?? 0 });
  return Math.max(1, Math.round((window * 0.815 - used) / context.scale));
}

/** To one of the messages that were ever said, the latest ones first. */
function goBack(
  w: World,
  { how, pick: back, guard }: Extract<Move, { readonly do: 'goBack' }>,
  by: typeof ann,
  text: string,
): unknown {
  const messages = w.journal.filter((e) => e.kind === 'USER');
  const messageId = messages[messages.length - 1 - (back % Math.max(1, messages.length))]?.id ?? 'none';
  const seen = guard === 'stale' ? ['a turn long gone'] : [];
  // Whoever wants to go back reads first; who does not is told so.
  if (back % 4 > 0 && w.state.conversationFrom > 0) w.read();
  switch (how) {
    case 'rewind':
      return w.rewind(messageId, by, ...seen);
    case 'resend':
      return w.resend(messageId, text, by, ...seen);
    case 'retry':
      return w.retry('MESSAGE', by, ...seen);
    case 'retryResult':
      return w.retry('LAST_RESULT', by, ...seen);
  }
}

function dueOf(w: World, move: Extract<Move, { readonly do: 'goOn' }>): Move {
  if (w.state.projection.lifecycle === 'CLOSED') return { do: 'open' };
  if (w.state.closing && !liveTurn(w.state.projection))
    return move.stopping ? { do: 'openDoor' } : { do: 'close', how: 'WORD' };
  if (w.preparing.length > 0) return move.prepare;
  if (openItems(w.state.projection).length > 0) return move.decide;
  if (w.running.length > 0) return move.end;
  if (w.readings.length > 0) return { do: 'readForSummary', answered: true };
  if (w.summaries.length > 0) return move.summary;
  return w.modelCalls.length > 0 ? move.answer : { do: 'store' };
}

/** What the world could report now, under the claims it was given. */
const reports = (w: World): readonly { readonly stamp: Stamp; readonly event: Event }[] => [
  ...w.modelCalls.flatMap(({ stamp, messageId }) => [
    { stamp, event: { type: 'modelDelta' as const, messageId, text: 'x', reasoning: '' } },
    { stamp, event: { type: 'modelEnded' as const, messageId, outcome: { type: 'aborted' as const } } },
  ]),
  ...w.summaries.flatMap(({ stamp, compactionId }) => [
    { stamp, event: { type: 'summaryNotice' as const, compactionId, message: 'Part 2 of 5.' } },
    { stamp, event: { type: 'summaryEnded' as const, compactionId, outcome: { type: 'aborted' as const } } },
  ]),
  ...w.running.flatMap(({ stamp, call: { callId } }) => [
    { stamp, event: { type: 'toolOutput' as const, callId, text: 'x' } },
    { stamp, event: { type: 'toolEnded' as const, callId, result: late } },
  ]),
  ...w.preparing.map(({ stamp, calls }) => ({
    stamp,
    event: {
      type: 'callsPrepared' as const,
      calls: calls.map(({ callId }) => ({ callId, prepared: prepared('read', callId) })),
    },
  })),
  ...w.backoffs.map(({ stamp, messageId }) => ({
    stamp,
    event: { type: 'backoffOver' as const, messageId },
  })),
  ...w.stopWatches.map(({ stamp, turnId }) => ({ stamp, event: { type: 'stopOverdue' as const, turnId } })),
];

const late = { outcome: 'OK', effect: 'NONE', content: 'late' } as const;

function decide(
  w: World,
  move: Extract<Move, { readonly do: 'decide' }>,
  by: typeof ann,
  at: <T>(list: readonly T[], i: number) => T | undefined,
): unknown {
  const { projection } = w.state;
  const items =
    move.twist === 'again' ? projection.cycles.flatMap((c) => c.items) : openItems(projection).slice();
  const item = at(items, move.pick);
  const cycle = projection.cycles.find((c) => item && c.items.includes(item));
  if (!item || !cycle) return null;
  return w.command(by, {
    type: 'decide',
    cycleId: move.twist === 'cycle' ? 'a cycle long gone' : cycle.id,
    callId: item.callId,
    argumentsHash: move.twist === 'hash' ? 'other arguments' : item.argumentsHash,
    verdict: move.verdict,
    feedback: move.feedback,
  });
}

/** Answers whatever is open, in the plainest way, until nothing is. */
function bringToRest(w: World): void {
  for (let round = 0; round < 400; round += 1) {
    w.store();
    if (w.overflows()) w.overflow();
    else if (w.modelCalls.length > 0) w.answer({ text: 'done' });
    else if (w.readings.length > 0) w.readForSummary();
    else if (w.summaries.length > 0) w.summarised();
    else if (w.preparing.length > 0) w.prepare('read');
    else if (w.running[0]) w.end(w.running[0].call.callId);
    else if (w.backoffs.length > 0) w.waitOver();
    else if (w.titles.length > 0) w.suggest(null);
    else if (openItems(w.state.projection).length > 0) w.decide('DENIED');
    else return;
  }
}
