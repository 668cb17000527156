/**
 * Owns: proof that nothing accepted is lost and nothing is done twice, however the process dies: the real server, on
 * its own database as it ships, killed with SIGKILL at seeded moments of turns with tools, and started again.
 *
 * `CRASH_SEED` repeats a run (as far as two processes can be repeated), `CRASH_KILLS` changes how often it dies.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { liveTurn, type Entry } from 'schema/projection';
import { afterEach, expect, it } from 'vitest';
import type { Known } from '../../schema/src/client-kit/followed.ts';
import { auditAt } from '../../server/test/support/audits.ts';
import {
  lastMessage,
  startScriptedProvider,
  type ChatBody,
  type Piece,
  type ScriptedProvider,
  type Step,
} from '../../server/test/support/scripted-provider.ts';
import { questionsOf, type Result, type Sent } from '../support/api.ts';
import { createCrashWorld, type Command, type CrashWorld, type Fact } from '../support/crash-world.ts';
import { brokenLaws, ofKind } from '../support/journal-laws.ts';
import { within } from '../support/process.ts';
import { createRandom, type Random } from '../support/random.ts';
import { embeddedDatabaseOf, processesIn } from '../support/weir.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const killsWanted = Number(process.env['CRASH_KILLS'] ?? 30);
/** Answers with calls before the one that ends the turn. */
const batches = 4;
/** Side effects of commands end up here, one line each, in the workspace. */
const counter = 'counter.log';

/** Under a load that makes a start take eight seconds instead of two; no figure of the product. */
const patienceMs = 400_000;

const cleanup: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of cleanup.splice(0).reverse()) await end();
});

it(
  `loses nothing and does nothing twice when it is killed at ${killsWanted} moments of turns with tools (D-2, D-9, D-50, D-70, I37)`,
  { timeout: patienceMs + 30_000 },
  async () => {
    const began = performance.now();
    const progress = { doing: 'starting', kills: 0, lives: 0, turns: 0, entries: 0, audits: 0 };
    const said = (): string => `CRASH_SEED=${seed}: ${JSON.stringify(progress)}`;
    try {
      await within(patienceMs, said, run(createRandom(seed), progress));
    } catch (error) {
      console.error(`The crash test failed. ${said()}`);
      throw error;
    }
    expect(progress.kills).toBe(killsWanted);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(`The crash test took ${seconds} s. ${said()}`);
  },
);

interface Progress {
  doing: string;
  kills: number;
  lives: number;
  turns: number;
  entries: number;
  /** How often the whole database was audited, mostly just after a kill. */
  audits: number;
}

async function run(random: Random, progress: Progress): Promise<void> {
  const provider = await startScriptedProvider();
  cleanup.push(() => provider.close());
  const world = await createCrashWorld(random, { provider });
  cleanup.push(() => world.end());
  const stage = createStage(provider, world);
  provider.respond(stage.answer);

  while (world.kills < killsWanted) {
    progress.doing = 'beginning';
    const scene = await begin(world, stage, ++progress.turns);
    await killAbout(world, stage, scene, progress);
    progress.doing = 'waiting for the end of the turn';
    await scene.over;
    progress.doing = 'checking';
    progress.entries += (await check(world, scene, progress, { settled: true })).length;
    scene.leave();
  }
}

// ---- the model: what it says depends on the conversation alone, so that a call that is asked again fits in ----

interface Stage {
  answer(body: ChatBody, n: number): Step;
  /** The next answer stops in its middle; resolves when it has come that far. */
  holdNextAnswer(): Promise<void>;
  /** Lets answers that wait to be seen go on. */
  seen(): void;
}

function createStage(provider: ScriptedProvider, world: CrashWorld): Stage {
  const { random } = world;
  let nonce = 0;
  let gates: string[] = [];
  let hold: (() => void) | null = null;

  function call(): Piece {
    const id = `n${++nonce}`;
    const shell = (command: string): Piece => ({ call: { name: 'shell', arguments: { command } } });
    return random.pick([
      () => shell(`echo ${id} >> ${counter}`),
      () => shell(`echo ${id} >> ${counter}; echo seen; sleep 0.08; echo ${id} ended`),
      () => shell(`echo ${id} >> ${counter}; exit 3`),
      (): Piece => ({ call: { name: 'write_file', arguments: { path: `${id}.txt`, content: id } } }),
      (): Piece => ({ call: { name: 'read_file', arguments: { path: counter } } }),
    ])();
  }

  function middle(n: number): readonly Piece[] {
    if (hold) {
      const gate = `hold ${n}`;
      void provider.waitForGate(gate).then(hold, () => undefined);
      hold = null;
      return [{ gate }];
    }
    if (random.chance(0.5)) return [];
    // Until a follower has seen the first half.
    const gate = `half ${n}`;
    gates.push(gate);
    return [{ gate }];
  }

  return {
    answer(body, n) {
      world.tell('request');
      const asked = body.messages.filter((m) => m.role === 'assistant' && m.tool_calls).length;
      const last = lastMessage(body);
      const head = `After ${last.role} message ${body.messages.length}: `;
      if (asked >= batches) return { stream: [head, ...middle(n), 'nothing is left to do.'] };
      const calls = Array.from({ length: random.between(1, 3) }, call);
      return { stream: [{ reasoning: 'Let me think. ' }, head, ...middle(n), 'I run this.', ...calls] };
    },
    holdNextAnswer: () => new Promise((resolve) => (hold = resolve)),
    seen() {
      for (const gate of gates) provider.release(gate);
      gates = [];
    },
  };
}

// ---- the people: one sends, one sends while it is busy, one decides ----

interface Scene {
  readonly id: string;
  readonly workspace: string;
  /** What the follower knows now; all its lives long the same follower. */
  known(): Known;
  /** Entries it was told are durable, as they were then. */
  readonly promised: ReadonlyMap<number, Entry>;
  readonly commands: readonly { readonly command: Command; readonly about: About }[];
  /** Resolves when this holds of what the follower knows, and of whether it is in step with a server that runs. */
  until(holds: (known: Known, connected: boolean) => boolean): Promise<void>;
  /** Resolves when all messages are answered and no turn lives. */
  readonly over: Promise<void>;
  leave(): void;
}

type About =
  | { readonly type: 'send'; readonly text: string }
  | { readonly type: 'decide'; readonly cycleId: string; readonly callId: string; readonly verdict: string };

async function begin(world: CrashWorld, stage: Stage, number: number): Promise<Scene> {
  const { random } = world;
  const created = await world.command<Result & { readonly workstreamId?: string }>('create', (api, key) =>
    api.tryCreate({ title: `Crash ${number}`, key }),
  );
  const id = created.workstreamId!;
  const mine: { readonly command: Command; readonly about: About }[] = [];
  const underway = new Set<Promise<unknown>>();
  const promised = new Map<number, Entry>();
  const decided = new Set<string>();
  const watchers = new Set<() => void>();
  let known: Known | null = null;
  let connected = false;
  let finish = (): void => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const over = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  over.catch(() => undefined);

  function command(about: About, send: Parameters<CrashWorld['command']>[1]): void {
    const done = world
      .command(about.type, send)
      .then((result) => {
        const command = world.commands.find((c) => c.result === result)!;
        mine.push({ command, about });
        underway.delete(done);
        settle();
      })
      .catch(fail);
    underway.add(done);
  }

  const send = (text: string): void => command({ type: 'send', text }, (api, key) => api.send(id, text, key));

  function settle(): void {
    if (!known || underway.size > 0 || laterMessages.length > 0) return;
    const { base, projection } = known.view;
    const idle = !liveTurn(base) && base.turn !== null && base.queue.items.length === 0;
    if (idle && projection.revision === base.revision && saidAll(known.entries)) finish();
  }

  /** Every message that was accepted is in the transcript: what was queued has left the queue for it. */
  const saidAll = (entries: readonly Entry[]): boolean => {
    const said = ofKind(entries, 'USER')
      .map((e) => e.text)
      .join('\n');
    return mine.every(({ about }) => about.type !== 'send' || said.includes(about.text));
  };

  const laterMessages = [`Also look at message ${number}b.`];
  const sendAfter = random.between(3, 25);
  let seen = 0;
  const facts: Readonly<Partial<Record<Entry['kind'], Fact>>> = {
    TOOL_STARTED: 'started',
    TOOL_SETTLED: 'settled',
  };
  let told = 0;

  const leave = world.follow(id, (followed) => {
    if (followed.missing) fail(new Error(`workstream ${id} is missing`));
    connected = followed.connection.status === 'CONNECTED';
    if (!followed.known) return;
    known = followed.known;
    const { view, entries } = known;
    if (view.overlay.message) {
      stage.seen();
      world.tell('stream');
    }
    if (view.projection.revision < told) told = view.projection.revision;
    for (const entry of entries) {
      if (entry.revision <= view.base.revision && !promised.has(entry.revision))
        promised.set(entry.revision, entry);
      if (entry.revision <= told) continue;
      told = entry.revision;
      const fact = facts[entry.kind];
      if (fact) world.tell(fact);
    }
    world.tell('item');
    if (++seen === sendAfter || (seen > sendAfter && laterMessages.length > 0))
      for (const text of laterMessages.splice(0)) send(text);
    for (const question of questionsOf(view)) {
      const { cycleId, callId } = question;
      if (decided.has(`${cycleId} ${callId}`)) continue;
      decided.add(`${cycleId} ${callId}`);
      const verdict = random.chance(0.85) ? 'APPROVED' : 'DENIED';
      const feedback = random.chance(0.3) ? { feedback: `I said ${verdict}.` } : {};
      command({ type: 'decide', cycleId, callId, verdict }, (api, key) =>
        api.decide(id, question, verdict, { key, ...feedback }),
      );
    }
    settle();
    for (const watch of [...watchers]) watch();
  });
  const until: Scene['until'] = (holds) =>
    new Promise((resolve) => {
      const watch = (): void => {
        if (!known || !holds(known, connected)) return;
        watchers.delete(watch);
        resolve();
      };
      watchers.add(watch);
      watch();
    });
  send(`Begin ${number}a.`);
  const workspace = await workspaceOf(world, id);
  return { id, workspace, known: () => known!, promised, commands: mine, until, over, leave };
}

async function workspaceOf(world: CrashWorld, id: string): Promise<string> {
  const { view } = await (await world.api()).snapshot(id);
  return view.projection.configuration.workspace;
}

// ---- the moments ----

/** Three recoveries in a row without progress end a turn (D-71); this test is about turns that go on. */
const recoveriesBearable = 2;

async function killAbout(world: CrashWorld, stage: Stage, scene: Scene, progress: Progress): Promise<void> {
  const { random } = world;
  // A few deaths in each turn; what is left of the turn runs undisturbed.
  for (let deaths = random.between(4, 8); deaths > 0 && world.kills < killsWanted; deaths--) {
    const moments: Readonly<Record<string, () => Promise<unknown>>> = {
      items: () => world.count('item', random.between(1, 30)),
      requests: () => world.count('request', random.between(1, 2)),
      'the middle of an answer': () => stage.holdNextAnswer(),
      'pieces of an answer': () => world.count('stream', random.between(1, 2)),
      'a call that starts': () => world.count('started', random.between(1, 2)),
      'a call that ends': () => world.count('settled', 1),
      'a command that is sent': () => world.count('sent', 1),
      'a command that is answered': () => world.count('answered', random.between(1, 2)),
    };
    const moment = random.pick(Object.keys(moments));
    progress.doing = `waiting for ${moment}`;
    const ended = await Promise.race([moments[moment]!().then(() => false), scene.over.then(() => true)]);
    if (ended) return;
    progress.doing = 'waiting to be carried on';
    await scene.until((known, connected) => connected && bearable(known) > 0);
    let left = bearable(scene.known()) - 1;
    progress.doing = `killing at ${moment}`;
    await world.kill(random.pick([0, 1, 5, 40]));
    for (; left > 0 && world.kills < killsWanted && random.chance(0.5); left--) await world.killInStart();
    progress.doing = 'starting again';
    await world.start();
    progress.kills = world.kills;
    progress.lives = world.lives;
    progress.doing = `checking after a kill at ${moment}`;
    await check(world, scene, progress, { settled: false });
  }
}

/** How often the server may die now before the turn is given up; 0 while that cannot be told. */
function bearable({ view: { base, epoch } }: Known): number {
  const turn = liveTurn(base);
  if (!turn) return recoveriesBearable;
  // Until this life has carried the turn on, its recovery is still to come.
  return base.epoch === epoch ? recoveriesBearable - turn.recoveries : 0;
}

// ---- what must hold ----

async function check(
  world: CrashWorld,
  scene: Scene,
  progress: Progress,
  { settled }: { readonly settled: boolean },
): Promise<readonly Entry[]> {
  // What was promised by now must be in what is read next.
  const promised = [...scene.promised];
  const commands = [...scene.commands];
  const api = await world.api();
  const history = await api.history(scene.id);
  expect(brokenLaws(history, { settled })).toEqual([]);
  expect(await auditAt(embeddedDatabaseOf(world.place))).toEqual([]);
  progress.audits++;
  for (const [revision, entry] of promised) expect(history[revision - 1]).toEqual(entry);
  expect(brokenPromises(commands, history)).toEqual([]);
  for (const { command, about } of commands)
    if (settled || world.random.chance(0.3)) await repeatsAnswer(command, about);
  if (!settled) return history;

  const snapshot = await api.snapshot(scene.id);
  const { view, entries } = scene.known();
  expect(view.projection).toEqual(snapshot.view.projection);
  expect(view.overlay).toEqual(snapshot.view.overlay);
  expect(entries).toEqual(history.slice(-entries.length));
  expect(view.projection.turn?.outcome).toMatchObject({ type: 'COMPLETED' });
  const outcomes = ofKind(history, 'TURN').flatMap(({ turn }) => turn.outcome?.type ?? []);
  expect(new Set(outcomes)).toEqual(new Set(['COMPLETED']));
  expect(wrongEffects(scene.workspace, history)).toEqual([]);
  expect(processesIn(scene.workspace)).toEqual([]);
  return history;
}

/** What was answered as durable is there once, and in the order it was answered. */
function brokenPromises(commands: Scene['commands'], history: readonly Entry[]): readonly string[] {
  const broken: string[] = [];
  const places: { readonly command: Command; readonly revision: number }[] = [];
  for (const { command, about } of commands) {
    const found = placeOf(command, about, history);
    if (typeof found === 'string') broken.push(found);
    else if (found !== null) places.push({ command, revision: found });
  }
  for (const first of places)
    for (const second of places)
      if (first.command.answeredAt < second.command.sentAt && first.revision >= second.revision)
        broken.push(`${second.command.what} was sent after an answer and stands before what it answered`);
  return broken;
}

/** The revision at which a command took effect, null when it was refused, or what is wrong with it. */
function placeOf(command: Command, about: About, history: readonly Entry[]): number | string | null {
  const result: Sent = command.result;
  const said = `${JSON.stringify(about)}, answered ${JSON.stringify(result)}`;
  if (about.type === 'send') {
    if (result.durability !== 'DURABLE') return `refused: ${said}`;
    const entry = history[result.revision! - 1];
    const there =
      result.disposition === 'STARTED'
        ? entry?.kind === 'USER' && entry.id === result.messageId && entry.text === about.text
        : entry?.kind === 'QUEUE' && entry.queue.items.some((m) => m.id === result.messageId);
    const times = ofKind(history, 'USER').filter((e) => e.text.includes(about.text)).length;
    if (!there || times > 1) return `is there ${times} times, and at its revision: ${there}: ${said}`;
    return result.revision!;
  }
  const asked = ofKind(history, 'APPROVAL').filter((e) => e.cycle.id === about.cycleId);
  if (result.durability !== 'DURABLE') {
    // Only a question that was shown before it was durable can be gone.
    return result.code === 'APPROVAL_GONE' && asked.length === 0 ? null : `refused: ${said}`;
  }
  const decisions = asked.flatMap(({ revision, cycle }) => {
    const decision = cycle.items.find((item) => item.callId === about.callId)?.decision;
    return decision ? [{ revision, verdict: decision.verdict, at: decision.at }] : [];
  });
  const [first] = decisions;
  if (!first) return `was lost: ${said}`;
  if (decisions.some((d) => d.verdict !== about.verdict || d.at !== first.at)) return `was changed: ${said}`;
  return first.revision;
}

async function repeatsAnswer(command: Command, about: About): Promise<void> {
  const again = await command.repeat();
  if (about.type === 'send') expect(again).toEqual(command.result);
  else
    expect([again.__typename, again.durability]).toEqual([
      command.result.__typename,
      command.result.durability,
    ]);
}

/** Commands and files whose traces in the workspace do not agree with what the journal says of them. */
function wrongEffects(workspace: string, history: readonly Entry[]): readonly string[] {
  const path = join(workspace, counter);
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  const answers = new Map(ofKind(history, 'TOOL').map((e) => [e.callId, e]));
  const declared = new Set<string>();
  const wrong: string[] = [];
  for (const call of ofKind(history, 'ASSISTANT').flatMap((e) => e.calls)) {
    const input = JSON.parse(call.arguments) as { command?: string; path?: string; content?: string };
    const answer = answers.get(call.callId)!;
    let times: number;
    if (call.name === 'shell') {
      const id = /^echo (n\d+) /.exec(input.command!)![1]!;
      declared.add(id);
      times = lines.filter((line) => line === id).length;
    } else if (call.name === 'write_file') {
      times = existsSync(join(workspace, input.path!)) ? 1 : 0;
    } else continue;
    const allowed = { NONE: [0], COMMITTED: [1], UNKNOWN: [0, 1], PARTIAL: [1], ROLLED_BACK: [0] }[
      answer.effect
    ];
    if (!allowed.includes(times))
      wrong.push(`${call.name} ${call.arguments} is ${answer.effect}, seen ${times} times`);
  }
  // Nothing runs whose declaration was lost (D-2).
  const undeclared = lines.filter((line) => !declared.has(line));
  return undeclared.length > 0 ? [...wrong, `ran, but was never declared: ${undeclared.join()}`] : wrong;
}
