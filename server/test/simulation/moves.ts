/**
 * Owns: what may happen in a simulated world, as data. A move that has nothing to act on does nothing, so that any
 * list of moves is a life, and a shorter one too (shrinking).
 */
import { decodeCursor, liveTurn, openItems, type ApprovalCycle } from 'schema/projection';
import type { Viewer } from 'schema/model';
import { createChance, pick } from './chance.ts';
import { aliases } from './endpoints.ts';
import { ada, bob } from './node.ts';
import type { Node } from './node.ts';
import type { Input } from './people.ts';
import type { ModelCall } from './provider.ts';
import type { World } from './world.ts';

interface Kind {
  /** How often, beside the others. */
  readonly weight: number;
  /** Moves of one family come or stay away together in a life, so that lives differ. */
  readonly family:
    | 'work'
    | 'time'
    | 'repeats'
    | 'feeds'
    | 'disk'
    | 'crashes'
    | 'takeover'
    | 'stubborn'
    | 'rare'
    | 'context'
    | 'counting';
  readonly play: (world: World, n: number) => void | Promise<void>;
}

export type MoveName = keyof typeof kinds;

export interface Move {
  readonly do: MoveName;
  /** Chooses among what there is. */
  readonly n: number;
}

const somebody = (n: number): Viewer => (n % 2 === 0 ? ada : bob);

/** Mostly who owns the workstream, sometimes whoever lives. */
function nodeFor(world: World, n: number): Node | undefined {
  const owner = world.owner();
  return owner && n % 5 !== 0 ? owner : pick(world.nodes(), n >> 3);
}

/** The latest question, and now and then one that was given up and goes on. */
function openCall(world: World, n = 0) {
  const open = world.provider.calls.filter((call) => !call.over && call.by.alive);
  return n % 5 === 4 ? pick(open, n >> 4) : open.at(-1);
}
const openRuns = (world: World) => world.provider.runs.filter((run) => !run.over && run.by.alive);

function ask(world: World, n: number, by: Viewer, input: Input): void {
  const node = nodeFor(world, n);
  if (node) world.people.ask(world.people.want(by, input), node);
}

function answer(world: World, n: number): void {
  const call = openCall(world, n);
  if (call && call.material !== null) return summarise(call, n);
  const finish = (['STOP', 'STOP', 'STOP', 'LENGTH', 'OTHER'] as const)[(n >> 4) % 5]!;
  call?.answer({ finish, ...(n % 8 === 6 && { text: `${call.word} ${filler(n, 90)}` }) });
}

/** Words, so many. */
const filler = (n: number, words: number): string =>
  Array.from({ length: words }, (_, i) => `word${(n + i * 7) % 89}`).join(' ');

/** Mostly a short account; now and then none, all of it again, or a refusal. */
function summarise(call: ModelCall, n: number): void {
  const account = `${call.word} They spoke of ${n % 997}.`;
  switch ((n >> 4) % 13) {
    case 7:
      return call.answer({ text: n % 2 === 0 ? '' : ' \n' });
    case 8:
      return call.answer({ text: `${call.word} ${call.material}` });
    case 9:
      return call.answer({ text: account, finish: n % 2 === 0 ? 'LENGTH' : 'CONTENT_FILTER' });
    case 10:
      return call.fail({ kind: 'CONTEXT_OVERFLOW', message: 'Too much.' });
    case 11:
      return failModel(call, n >> 3);
    case 12:
      return call.answer({ text: `${call.word} ${filler(n, 120)}` });
    default:
      return call.answer({ text: account });
  }
}

function callTools(world: World, n: number): void {
  const call = openCall(world, n);
  if (call && call.material !== null) return summarise(call, n);
  if (!call) return;
  const names = ['look', 'write', 'write', 'look', 'run', 'nothing'] as const;
  const calls = Array.from({ length: 1 + ((n >> 2) % 6) }, (_, i) => ({
    // Providers repeat themselves.
    providerId: `call_${i % 2}`,
    name: names[((n >> 5) + i) % names.length]!,
    arguments: (n >> 7) % 9 === i ? 'invalid' : `{"n":${n % 100},"i":${i}}`,
  }));
  call.answer({ calls, finish: n % 11 === 0 ? 'LENGTH' : 'TOOL_CALLS' });
}

function failModel(call: ModelCall, n: number): void {
  // What does not fit is refused before it is read.
  const overflows = n % 13 === 12;
  call.fail({
    kind: overflows ? 'CONTEXT_OVERFLOW' : n % 3 > 0 ? 'OVERLOADED' : 'BAD_REQUEST',
    accepted: !overflows && n % 5 > 2,
    othersLeft: n % 7 > 4,
    retryAfterMs: n % 4 === 0 ? 3_000 : null,
  });
}

function endTool(world: World, n: number): void {
  const run = pick(openRuns(world), n >> 3);
  const well = n % 4 !== 0;
  run?.end({
    outcome: well ? 'OK' : 'ERROR',
    effect: well ? 'COMMITTED' : (['NONE', 'PARTIAL', 'UNKNOWN', 'ROLLED_BACK'] as const)[(n >> 6) % 4]!,
    content: (n >> 9) % 6 === 0 ? `result ${filler(n, 30 + ((n >> 12) % 700))}` : `result ${n % 1_000}`,
  });
}

/** A person decides on an item that is open, or on one that was once. */
function decide(world: World, n: number, stale: boolean): void {
  const sight = world.sight();
  if (!sight) return;
  const known: readonly ApprovalCycle[] = stale
    ? (world.laws.book(world.workstreamId)?.entries ?? []).flatMap((e) =>
        e.kind === 'APPROVAL' ? [e.cycle] : [],
      )
    : sight.cycles.filter((cycle) => cycle.status === 'OPEN');
  const items = known.flatMap((cycle) =>
    cycle.items.filter((item) => stale || item.decision === null).map((item) => ({ cycle, item })),
  );
  const found = pick(items, n >> 4);
  if (!found) return;
  ask(world, n, somebody(n >> 1), {
    type: 'decide',
    cycleId: found.cycle.id,
    callId: found.item.callId,
    argumentsHash: (stale && n % 3 === 0) || n % 11 === 5 ? 'another' : found.item.argumentsHash,
    verdict: n % 4 === 3 ? 'DENIED' : 'APPROVED',
    feedback: n % 7 === 0 ? 'take care' : null,
  });
}

function stop(world: World, n: number): void {
  const live = world.sight() && liveTurn(world.sight()!);
  const turnId = n % 3 === 0 ? null : (live?.id ?? null);
  ask(world, n, somebody(n >> 2), { type: 'stop', turnId, force: (n >> 4) % 4 === 0 });
}

/** A new message of somebody, which waits its turn; now and then a long one. */
const message = (world: World, by: Viewer, n = 0): Input => ({
  type: 'send',
  text: world.people.nextMark(by) + (n % 9 === 7 ? ` ${filler(n, 20 + ((n >> 6) % 200))}` : ''),
  delivery: 'QUEUE',
  turnId: null,
});

const send = (world: World, n: number): void => {
  const by = somebody(n >> 3);
  const input = message(world, by, n) as Extract<Input, { type: 'send' }>;
  ask(world, n, by, (n >> 5) % 6 === 0 ? { ...input, delivery: 'REJECT' } : input);
};

/** Mostly the principal, to the turn that is seen; now and then somebody else, or to a turn of before. */
function steer(world: World, n: number, turnId: string | null = null): void {
  const sight = world.sight();
  const live = sight && liveTurn(sight);
  const meant = turnId ?? live?.id;
  if (!meant) return;
  const principal = live?.principal.id === bob.id ? bob : ada;
  const by = n % 4 === 0 ? somebody(n >> 3) : principal;
  ask(world, n, by, { type: 'send', text: world.people.nextMark(by), delivery: 'STEER', turnId: meant });
}

/** A message that waits, or one that did, is edited or withdrawn. */
function changeQueued(world: World, n: number): void {
  const sight = world.sight();
  const known =
    n % 6 === 0
      ? (world.laws.book(world.workstreamId)?.entries ?? []).flatMap((e) =>
          e.kind === 'QUEUE' ? e.queue.items : [],
        )
      : (sight?.queue.items ?? []);
  const item = pick(known, n >> 4);
  if (!item) return;
  const author = item.author.id === bob.id ? bob : ada;
  const by = (n >> 2) % 4 === 0 ? somebody(n >> 6) : author;
  const { id: messageId } = item;
  if (n % 2 === 0) ask(world, n, by, { type: 'withdrawQueued', messageId });
  else ask(world, n, by, { type: 'editQueued', messageId, text: world.people.nextMark(by) });
}

/** Goes back to a message that was said: mostly when nothing lives, having seen the last turn. */
function goBack(world: World, n: number): void {
  const sight = world.sight();
  if (!sight || (liveTurn(sight) && n % 4 > 0)) return;
  const entries = world.laws.book(world.workstreamId)?.entries ?? [];
  const turns = entries.flatMap((e) => (e.kind === 'TURN' ? [e.turn.id] : []));
  const turnId = (n >> 2) % 5 === 0 ? (pick(turns, n >> 9) ?? null) : (sight.turn?.id ?? null);
  const said = entries.filter((e) => e.kind === 'USER');
  const found = said.at(-1 - ((n >> 5) % Math.min(6, Math.max(1, said.length))));
  const messageId = found?.id ?? 'none';
  const author = found?.author.id === bob.id ? bob : ada;
  const by = (n >> 3) % 4 === 0 ? somebody(n >> 6) : author;
  const how = (n >> 12) % 4;
  if (how === 0) ask(world, n, by, { type: 'rewind', messageId, turnId });
  else if (how === 1)
    ask(world, n, by, { type: 'resend', messageId, turnId, text: world.people.nextMark(by) });
  else ask(world, n, by, { type: 'retry', turnId, from: how === 2 ? 'MESSAGE' : 'LAST_RESULT' });
}

/** Does whatever the workstream waits for. */
function goOn(world: World, n: number): Promise<void> | void {
  const sight = world.sight();
  if (world.nodes().length === 0) return void (world.start(n % 2 === 0 ? 'a' : 'b') || world.start('a'));
  if (sight && openItems(sight).length > 0 && n % 3 > 0) return decide(world, n, false);
  if (openRuns(world).length > 0) return endTool(world, n);
  if (openCall(world)) return n % 3 === 0 ? answer(world, n) : callTools(world, n);
  if (sight && !liveTurn(sight) && n % 3 === 0) return send(world, n);
  return world.scheduler.flow(n, 12);
}

const ready = (world: World, n: number): Node | undefined => pick(world.nodes(), n);

export const kinds = {
  send: { weight: 5, family: 'work', play: send },
  goOn: { weight: 16, family: 'work', play: goOn },
  say: {
    weight: 6,
    family: 'work',
    play(world, n) {
      const call = openCall(world);
      if (n % 5 === 0) call?.say({ type: 'reasoning', text: `thought ${n % 97} ` });
      // Half of a pair now, the other half with the next piece.
      else call?.say({ type: 'text', text: n % 7 === 0 ? '\ude00 and \ud83d' : `word ${n % 97} ` });
    },
  },
  answer: { weight: 3, family: 'work', play: answer },
  callTools: { weight: 3, family: 'work', play: callTools },
  failModel: {
    weight: 1.5,
    family: 'work',
    play(world, n) {
      const call = openCall(world);
      if (call) failModel(call, n);
    },
  },
  output: {
    weight: 2,
    family: 'work',
    play: (world, n) => pick(openRuns(world), n)?.output(`line ${n % 1_000}\n`),
  },
  endTool: { weight: 3, family: 'work', play: endTool },
  decide: { weight: 3, family: 'work', play: (world, n) => decide(world, n, false) },
  steer: { weight: 2.5, family: 'work', play: steer },
  changeQueued: { weight: 1.6, family: 'work', play: changeQueued },
  goBack: { weight: 4, family: 'work', play: goBack },
  configure: {
    weight: 0.8,
    family: 'work',
    play: (world, n) =>
      ask(world, n, somebody(n >> 2), {
        type: 'configure',
        approvalMode: (['ASK', 'TRUST_WORKSPACE', 'TRUST_ALL'] as const)[n % 3]!,
      }),
  },
  compact: {
    weight: 1.2,
    family: 'context',
    play: (world, n) => ask(world, n, somebody(n >> 2), { type: 'compact' }),
  },
  budget: {
    weight: 1.2,
    family: 'context',
    play: (world, n) =>
      ask(world, n, somebody(n >> 2), {
        type: 'configure',
        tokenBudget: [1_000, 1_000, 2_500, 6_000, 0][(n >> 3) % 5]!,
      }),
  },
  instruct: {
    weight: 0.8,
    family: 'context',
    play: (world, n) =>
      ask(world, n, somebody(n >> 2), {
        type: 'configure',
        instructions: n % 4 === 0 ? '' : `Keep in mind ${filler(n, n % 60)}`,
      }),
  },
  choose: {
    weight: 1.4,
    family: 'context',
    play: (world, n) =>
      ask(world, n, somebody(n >> 2), {
        type: 'configure',
        model: { alias: aliases[(n >> 4) % aliases.length]!, temperature: null, effort: null },
      }),
  },
  fill: {
    weight: 10,
    family: 'context',
    /** An answer looks at much, so that the results fill what the model can read. */
    async play(world, n) {
      if (openRuns(world).length === 0) {
        const call = openCall(world);
        if (!call || call.material !== null) return goOn(world, n);
        const calls = Array.from({ length: 1 + (n % 3) }, (_, i) => ({
          providerId: `call_${i}`,
          name: 'look',
          arguments: `{"much":${i}}`,
        }));
        call.answer({ calls, finish: 'TOOL_CALLS' });
        await world.scheduler.flow(n >> 2, 14);
      }
      // Now and then what is to be made room for cannot be paid any more.
      if (n % 7 === 3) ask(world, n, ada, { type: 'configure', tokenBudget: 1_000 });
      for (const run of openRuns(world))
        run.end({ outcome: 'OK', effect: 'COMMITTED', content: filler(n, 40 + ((n >> 5) % 400)) });
      await world.scheduler.flow(n >> 3, n % 9);
    },
  },
  summarise: {
    weight: 7,
    family: 'context',
    play(world, n) {
      const open = world.provider.calls.filter((c) => !c.over && c.by.alive && c.material !== null);
      const call = pick(open, n >> 9);
      if (call) summarise(call, n);
    },
  },
  trapSummary: {
    weight: 1.2,
    family: 'context',
    play: (world, n) =>
      world.trap.set(
        (['summary', 'summary', 'read', 'count'] as const)[n % 4]!,
        (n >> 4) % 2 === 0 ? 'before' : 'after',
      ),
  },
  count: {
    weight: 1.2,
    family: 'counting',
    play: (world, n) =>
      void (world.provider.counting = (['NONE', 'ZEROS', 'ABSURD', 'HONEST', 'NONE', 'LOW'] as const)[
        n % 6
      ]!),
  },
  stop: { weight: 1.6, family: 'work', play: stop },
  resumeQueue: {
    weight: 0.8,
    family: 'work',
    play: (world, n) => ask(world, n, somebody(n >> 2), { type: 'resumeQueue' }),
  },

  step: { weight: 26, family: 'time', play: async (world, n) => void (await world.scheduler.step(n)) },
  flow: { weight: 12, family: 'time', play: (world, n) => world.scheduler.flow(n, 2 + (n % 14)) },
  frame: { weight: 3, family: 'time', play: (world, n) => world.scheduler.advance(33, n % 2 === 0, n) },
  wait: {
    weight: 5,
    family: 'time',
    play: (world, n) => world.scheduler.advance([500, 1_000, 4_000, 10_000][n % 4]!, true, n),
  },

  repeat: {
    weight: 3,
    family: 'repeats',
    play(world, n) {
      const intent = pick(
        world.people.intents.filter((i) => !i.void && !i.refused && !i.stolen),
        n >> 4,
      );
      const node = nodeFor(world, n);
      if (intent && node) world.people.ask(intent, node);
    },
  },
  sendTwice: {
    weight: 1.5,
    family: 'repeats',
    play(world, n) {
      const by = somebody(n >> 3);
      const intent = world.people.want(by, message(world, by));
      for (const node of [nodeFor(world, n), nodeFor(world, n >> 1)])
        if (node) world.people.ask(intent, node);
    },
  },
  stealKey: {
    weight: 0.7,
    family: 'repeats',
    play(world, n) {
      const intent = pick(
        world.people.intents.filter((i) => i.told && !i.void && i.input.type !== 'create'),
        n >> 4,
      );
      const node = nodeFor(world, n);
      if (intent && node) world.people.ask(world.people.steal(intent), node);
    },
  },
  staleStop: {
    weight: 0.6,
    family: 'repeats',
    play(world, n) {
      const turns = (world.laws.book(world.workstreamId)?.entries ?? []).flatMap((e) =>
        e.kind === 'TURN' ? [e.turn.id] : [],
      );
      const turnId = pick(turns, n >> 4);
      if (turnId !== undefined) ask(world, n, somebody(n), { type: 'stop', turnId, force: n % 2 === 0 });
    },
  },
  staleSteer: {
    weight: 0.8,
    family: 'repeats',
    play(world, n) {
      const turns = (world.laws.book(world.workstreamId)?.entries ?? []).flatMap((e) =>
        e.kind === 'TURN' ? [e.turn.id] : [],
      );
      steer(world, n, pick(turns, n >> 4) ?? 'none');
    },
  },
  staleDecide: { weight: 1, family: 'repeats', play: (world, n) => decide(world, n, true) },
  create: {
    weight: 0.4,
    family: 'repeats',
    play: (world, n) => ask(world, n, somebody(n), { type: 'create' }),
  },

  attach: {
    weight: 3,
    family: 'feeds',
    play(world, n) {
      const node = nodeFor(world, n);
      if (node && world.followers.length < 4) world.attach(node);
    },
  },
  resumeFeed: {
    weight: 2.5,
    family: 'feeds',
    play(world, n) {
      const incarnation = world.laws.book(world.workstreamId)?.incarnation;
      const place = pick(
        world.places.filter((p) => p.incarnation === incarnation),
        n >> 4,
      );
      const node = nodeFor(world, n);
      if (node && place && world.followers.length < 4) world.resume(node, place);
    },
  },
  cut: { weight: 1.5, family: 'feeds', play: (world, n) => pick(world.followers, n)?.cut() },
  pause: { weight: 0.8, family: 'feeds', play: (world, n) => pick(world.followers, n)?.pause() },
  read: { weight: 1.2, family: 'feeds', play: (world, n) => pick(world.followers, n)?.resume() },
  history: { weight: 1, family: 'feeds', play: (world, n) => history(world, n) },

  away: { weight: 0.7, family: 'disk', play: (world) => world.disk.away(true) },
  back: { weight: 1.6, family: 'disk', play: (world) => world.disk.away(false) },
  mishap: {
    weight: 1.6,
    family: 'disk',
    play: (world, n) => world.disk.befall((['written', 'written', 'unwritten', 'late'] as const)[n % 4]!),
  },
  stall: {
    weight: 0.7,
    family: 'disk',
    play: (world, n) => world.scheduler.advance([1_500, 6_000, 21_000, 40_000][n % 4]!, false, n),
  },

  crash: {
    weight: 0.8,
    family: 'crashes',
    play(world, n) {
      const node = ready(world, n);
      if (node) world.crash(node.process, 'killed');
    },
  },
  trap: {
    weight: 1.6,
    family: 'crashes',
    play: (world, n) =>
      world.trap.set(
        (['commit', 'commit', 'claim', 'model', 'tool', 'tool', 'prepare'] as const)[n % 7]!,
        (n >> 4) % 2 === 0 ? 'before' : 'after',
      ),
  },
  start: { weight: 2, family: 'time', play: (world, n) => void world.start(n % 2 === 0 ? 'a' : 'b') },
  shutDown: { weight: 0.3, family: 'crashes', play: (world, n) => ready(world, n)?.stop() },

  suspend: {
    weight: 0.8,
    family: 'takeover',
    play(world, n) {
      const node = ready(world, n);
      if (node) node.process.suspended = true;
    },
  },
  wake: {
    weight: 1.2,
    family: 'takeover',
    play(world, n) {
      const node = pick(
        world.nodes().filter(({ process }) => process.suspended),
        n,
      );
      if (node) node.process.suspended = false;
    },
  },
  takeOver: {
    weight: 0.9,
    family: 'takeover',
    /** The owner stands still until its session is over, and another takes its place before it wakes. */
    async play(world, n) {
      const owner = world.owner();
      if (!owner) return;
      world.start(owner.process.nodeId === 'a' ? 'b' : 'a');
      await world.scheduler.flow(n, 8);
      // Somebody may follow there already.
      const there = world.nodes().find((node) => node !== owner);
      if (there && n % 2 === 0) world.attach(there);
      await world.scheduler.flow(n, 8);
      await goOn(world, n >> 2);
      await world.scheduler.flow(n, n % 12);
      owner.process.suspended = true;
      await world.scheduler.advance(20_500, true, n);
      const other = world.nodes().find((node) => node !== owner);
      const intent = pick(
        world.people.intents.filter((i) => !i.void && !i.refused && !i.stolen),
        n >> 4,
      );
      if (other && intent) world.people.ask(intent, other);
      await world.scheduler.flow(n, 2 + (n % 9));
      owner.process.suspended = false;
    },
  },
  rob: {
    weight: 0.9,
    family: 'takeover',
    /**
     * Somebody takes the workstream and dies at once; the owner finds out when it writes. Now and then it owns it again
     * before a question of its former load is answered.
     */
    async play(world, n) {
      const call = openCall(world);
      const owner = world.owner();
      if (call && n % 2 === 0) call.stubborn = true;
      world.disk.rob(world.workstreamId);
      send(world, n);
      await world.scheduler.flow(n >> 2, n % 16);
      if (n % 4 > 0 || !owner || call?.by !== owner.process) return;
      await world.scheduler.flow(n >> 3, 12);
      world.people.ask(world.people.want(ada, message(world, ada)), owner);
      await world.scheduler.flow(n >> 4, 10);
      call.answer();
      await world.scheduler.flow(n >> 5, n % 12);
    },
  },
  cutOff: {
    weight: 0.6,
    family: 'takeover',
    play(world, n) {
      const node = ready(world, n);
      if (!node) return;
      node.process.cutOff = true;
      world.disk.breakLocks(node.process);
    },
  },
  reconnect: {
    weight: 1.4,
    family: 'takeover',
    play: (world) => world.nodes().forEach(({ process }) => void (process.cutOff = false)),
  },

  stubborn: {
    weight: 1.2,
    family: 'stubborn',
    play(world, n) {
      const work = n % 2 === 0 ? openCall(world) : pick(openRuns(world), n >> 2);
      if (work) work.stubborn = true;
    },
  },
  outlive: {
    weight: 0.6,
    family: 'stubborn',
    /** A question outlives the Stop of its turn, and the next turn begins. */
    async play(world, n) {
      const call = openCall(world);
      if (!call) return;
      call.stubborn = true;
      ask(world, n, somebody(n), { type: 'stop', turnId: null, force: n % 2 === 0 });
      await world.scheduler.flow(n, 12);
      await world.scheduler.advance(10_500, true, n);
      send(world, n);
      await world.scheduler.flow(n >> 2, n % 14);
    },
  },
  bug: {
    weight: 0.2,
    family: 'rare',
    play(world) {
      const call = openCall(world);
      if (!call || call.signal.aborted) return;
      world.bugs += 1;
      call.end({
        type: 'answered',
        text: '',
        reasoning: '',
        usage: null,
        alias: call.alias,
        model: call.alias,
      } as never);
    },
  },
  replace: {
    weight: 0.25,
    family: 'rare',
    /** Restored from a copy, under the same id, while who owned it has something on its way. */
    async play(world, n) {
      const owner = world.owner();
      if (owner) {
        world.start(owner.process.nodeId === 'a' ? 'b' : 'a');
        await world.scheduler.flow(n, 8);
        const by = somebody(n);
        world.people.ask(world.people.want(by, message(world, by)), owner);
        await world.scheduler.flow(n, 2 + (n % 6));
      }
      world.closeFeeds();
      world.people.forget();
      await world.disk.replace(world.workstreamId);
      const other = world.nodes().find((node) => node !== owner);
      if (other) world.people.ask(world.people.want(ada, message(world, ada)), other);
      await world.scheduler.flow(n >> 3, 2 + (n % 7));
    },
  },
} as const satisfies Readonly<Record<string, Kind>>;

/** A page of history, as somebody asks for one in between. */
function history(world: World, n: number): void {
  const node = nodeFor(world, n);
  const services = node?.up?.services;
  if (!services || node.process.suspended) return;
  const { workstreamId, violate, laws } = world;
  const count = 1 + (n % 40);
  const head = laws.book(workstreamId)?.entries.length ?? 0;
  const range =
    n % 3 === 0
      ? ({ direction: 'forward', count, after: (n >> 3) % (head + 1) } as const)
      : ({ direction: 'backward', count, before: n % 3 === 1 ? null : 1 + ((n >> 3) % (head + 1)) } as const);
  services.history.page(workstreamId, range).then(
    (page) => {
      const book = laws.book(workstreamId);
      if (!page || !book || !node.process.alive) return;
      // Who owned it before it was deleted does not know yet.
      if (decodeCursor(page.cursor)?.incarnation !== book.incarnation) return;
      page.entries.forEach((entry, i) => {
        if (i > 0 && entry.revision !== page.entries[i - 1]!.revision + 1)
          violate('I14', `${entry.revision} follows ${page.entries[i - 1]!.revision} in a page`);
        if (entry.revision <= page.durableThrough && book.entries[entry.revision - 1]?.id !== entry.id)
          violate('I11', `revision ${entry.revision} of a page is called durable, and is not what is stored`);
      });
      const reachesHead =
        page.entries.length > 0 || (range.direction === 'backward' && range.before === null);
      if (
        reachesHead &&
        !page.hasNewer &&
        page.revision > 0 &&
        page.entries.at(-1)?.revision !== page.revision
      )
        violate('I2', `the last page ends at ${page.entries.at(-1)?.revision}, the head is ${page.revision}`);
    },
    // A page whose prefix cannot be read is an error, never half an answer (D-53).
    () => undefined,
  );
}

const names = Object.keys(kinds) as readonly MoveName[];

/** The life that a seed stands for. Families come and go, so that no two lives are made alike. */
export function movesOf(seed: number): readonly Move[] {
  const chance = createChance(seed);
  const weights = new Map<string, number>();
  const weightOf = (family: string): number => {
    const known = weights.get(family);
    if (known !== undefined) return known;
    const drawn = family === 'work' || family === 'time' ? 1 : [0, 0, 0.5, 1, 2][Math.floor(chance() * 5)]!;
    weights.set(family, drawn);
    return drawn;
  };
  const table = names.map((name) => ({ name, weight: kinds[name].weight * weightOf(kinds[name].family) }));
  const total = table.reduce((sum, { weight }) => sum + weight, 0);
  const length = 30 + Math.floor(chance() * 220);
  return Array.from({ length }, () => {
    let left = chance() * total;
    const found = table.find(({ weight }) => (left -= weight) < 0);
    return { do: (found ?? table[0]!).name, n: Math.floor(chance() * 0x4000_0000) };
  });
}
