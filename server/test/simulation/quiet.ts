/**
 * Owns: how a simulated world comes to rest, and what must be true then: everything answers, so everybody gets an
 * answer, every turn ends, nothing waits, and all agree.
 */
import { isDeepStrictEqual } from 'node:util';
import { liveTurn, openItems } from 'schema/projection';
import { ada, type Node } from './node.ts';
import { explainedBy, type Intent } from './people.ts';
import type { World } from './world.ts';

/** Rounds of 5 s that are more than anything may take. */
const patience = 60;
const round = 5_000;
/** Ten messages may wait, each with three questions of budget and two summaries in parts, one round a call. */
const patienceToEnd = 2 * patience;

export async function comeToRest(world: World): Promise<void> {
  heal(world);
  await world.scheduler.flow(7, 5_000);
  if (!(await everybodyIsAnswered(world))) return;
  if (!(await everythingEnds(world))) return;
  await everybodyAgrees(world);
  explainedBy(world.people, world.laws, world.workstreamId, world.violate);
}

function heal(world: World): void {
  world.note('— all goes well from here on —');
  world.trap.clear();
  world.disk.calm();
  world.disk.away(false);
  for (const id of ['a', 'b'] as const) {
    const process = world.node(id)?.process;
    if (process) Object.assign(process, { suspended: false, cutOff: false });
    world.start(id);
  }
}

async function pass(world: World, ms: number): Promise<void> {
  // Who lost its session ended, and is started again by whoever looks after servers.
  for (const id of ['a', 'b'] as const) world.start(id);
  await world.scheduler.advance(ms, true, 11);
  // Who had failed three times is let go on, as an operator would.
  await world.disk.forgive(world.workstreamId);
  world.check();
}

/** With models and tools that say nothing: commands do not wait for them (I24). */
async function everybodyIsAnswered(world: World): Promise<boolean> {
  const { people, violate } = world;
  for (let n = 0; n < patience; n += 1) {
    const open = unanswered(world);
    if (open.length === 0) return true;
    for (const intent of open) {
      const nodes = world.owner() ? [world.owner()!] : world.nodes();
      for (const node of nodes) people.ask(intent, node);
    }
    await pass(world, round);
    if (world.violation) return false;
  }
  const [left] = unanswered(world);
  violate('I24', `${left?.by.id}'s ${left?.input.type} ${left?.key} gets no answer`);
  return false;
}

/** A queue that is full, or a turn that runs, is an answer too, though not a last one. */
const unanswered = (world: World): readonly Intent[] =>
  world.people.intents.filter((i) => !i.told && !i.refused && !i.void && !i.stolen && !i.full);

async function everythingEnds(world: World): Promise<boolean> {
  const { people, workstreamId, violate, laws } = world;
  for (let n = 0; n < patienceToEnd; n += 1) {
    const { fold } = laws.book(workstreamId)!;
    const live = liveTurn(fold);
    const state = world.owner()?.up?.registry.peek(workstreamId)?.state();
    const waits = live !== null || fold.queue.items.length > 0 || (state?.pending.length ?? 0) > 0;
    if (!waits && n > 0) return true;
    answerAll(world);
    for (const run of world.provider.runs)
      if (run.by.alive) run.end({ outcome: 'OK', effect: 'COMMITTED', content: 'done' });
    for (const node of world.owner() ? [world.owner()!] : world.nodes()) {
      approveAll(world, node);
      if (!live && fold.queue.items.length > 0) people.ask(people.want(ada, { type: 'resumeQueue' }), node);
    }
    await pass(world, round);
    if (world.violation) return false;
  }
  const { fold } = laws.book(workstreamId)!;
  violate(
    'D-31',
    `turn ${fold.turn?.phase}, ${fold.queue.items.length} queued, ${openItems(fold).length} asked, after ${(patienceToEnd * round) / 1_000} s`,
  );
  return false;
}

function answerAll(world: World): void {
  for (const call of world.provider.calls)
    if (call.by.alive && !call.over) call.answer(call.said === '' ? {} : { text: call.said });
}

function approveAll(world: World, node: Node): void {
  const { people, workstreamId, laws } = world;
  const { cycles } = laws.book(workstreamId)!.fold;
  for (const { id: cycleId, items, status } of cycles)
    for (const { callId, argumentsHash, decision } of status === 'OPEN' ? items : [])
      if (decision === null) {
        const verdict = 'APPROVED' as const;
        const intent = people.want(ada, {
          type: 'decide',
          cycleId,
          callId,
          argumentsHash,
          verdict,
          feedback: null,
        });
        people.ask(intent, node);
      }
}

async function everybodyAgrees(world: World): Promise<void> {
  const { people, workstreamId, violate, laws } = world;
  const stalled = world.followers.filter((follower) => follower.paused);
  // Somebody must have it loaded to say what is visible.
  const last = people.want(ada, {
    type: 'send',
    text: people.nextMark(ada),
    delivery: 'QUEUE',
    turnId: null,
  });
  for (let n = 0; n < patience && !last.told; n += 1) {
    for (const node of world.owner() ? [world.owner()!] : world.nodes()) people.ask(last, node);
    await pass(world, 1_000);
    if (world.violation) return;
  }
  const node = world.owner();
  if (!node) return violate('D-22', 'nobody owns the workstream');
  world.openFeeds();
  comeBack(world, node);
  // In the middle of an answer, so that there is something to show.
  world.provider.calls
    .findLast((call) => call.by === node.process && !call.over)
    ?.say({ type: 'text', text: 'At last ' });
  await pass(world, 100);
  world.attach(node);
  await pass(world, 100);
  agree(world, node, 'in the middle of an answer');
  for (let n = 0; n < 3 || (n < patience && liveTurn(world.laws.book(workstreamId)!.fold)); n += 1) {
    answerAll(world);
    approveAll(world, node);
    await pass(world, 1_000);
    if (world.violation) return;
  }
  if (world.violation) return;
  agree(world, node, 'at rest');
  for (const follower of stalled) follower.resume();
  await pass(world, 1_000);
  agree(world, node, 'when those who stood still have caught up');
  if (world.violation) return;

  const state = node.up!.registry.peek(workstreamId)!.state();
  if (liveTurn(state.projection)) violate('D-31', 'the last turn has not ended');
  const left = [
    ...state.held,
    ...Object.keys(state.progress),
    ...state.pending,
    ...(state.attempt ? [1] : []),
  ];
  if (left.length > 0) violate('D-31', `${left.length} things are left waiting`);
  const { entries } = laws.book(workstreamId)!;
  const page = await inTime(
    world,
    node.up!.services.history.page(workstreamId, { direction: 'backward', count: 5_000, before: null }),
  );
  if (!isDeepStrictEqual(page?.entries, entries)) violate('I14', 'the history is not what is stored');
  const open = await inTime(world, node.up!.services.approvals.list({ first: 10, after: null }));
  if (open.items.some((item) => item.workstreamId === workstreamId))
    violate('I42', 'an approval is left open');

  for (const follower of world.followers) follower.cut();
  await pass(world, 100);
  for (const { up, process } of world.nodes())
    if (up!.hub.size() > 0) violate('D-54', `${up!.hub.size()} subscriptions are left at ${process.name}`);
  const audited = await world.disk.audit(workstreamId);
  if (!audited) return violate('D-22', 'nobody can own the workstream any more');
  laws.usage.atRest(workstreamId, audited.calls, audited.spent);
}

/** Everybody who was somewhere comes back to the owner, from where they were. */
function comeBack(world: World, node: Node): void {
  const incarnation = world.laws.book(world.workstreamId)!.incarnation;
  const elsewhere = world.followers.filter((follower) => follower.node !== node);
  for (const follower of elsewhere) follower.cut();
  for (const place of [...elsewhere.map((follower) => follower.place), ...world.places].slice(-5))
    if (place.incarnation === incarnation) world.resume(node, place);
}

function agree(world: World, node: Node, when: string): void {
  const state = node.up!.registry.peek(world.workstreamId)?.state();
  if (!state) return world.violate('D-22', `nobody owns the workstream ${when}`);
  const { entries } = world.laws.book(world.workstreamId)!;
  if (
    !isDeepStrictEqual(state.durable, world.laws.book(world.workstreamId)!.fold) &&
    state.pending.length === 0
  )
    world.violate('I5', `what the actor holds for stored is not what is stored, ${when}`);
  for (const follower of world.followers) {
    if (follower.node !== node || follower.status === 'snapshot' || follower.paused) continue;
    const { view, transcript } = follower.place;
    const wrong = (what: string): void => world.violate('D-58', `${follower.name} ${what} ${when}`);
    if (follower.status !== 'following') continue;
    if (!follower.synchronized) wrong('is not synchronized');
    if (!isDeepStrictEqual(view.projection, state.projection)) wrong('folds to something else');
    if (!isDeepStrictEqual(view.base, state.durable)) wrong('holds something else for durable');
    if (!isDeepStrictEqual(view.pending, state.pending)) wrong('holds something else for pending');
    if (!isDeepStrictEqual(view.overlay, state.overlay)) wrong('shows another overlay');
    if (view.epoch !== state.epoch) wrong(`knows epoch ${view.epoch}, not ${state.epoch}`);
    if (state.pending.length === 0 && view.persistence.status !== 'HEALTHY')
      wrong(`says ${view.persistence.status}`);
    const first = transcript[0]?.revision;
    const stored = [...entries, ...state.pending];
    if (first !== undefined && !isDeepStrictEqual(transcript, stored.slice(first - 1)))
      wrong('has another transcript');
  }
}

async function inTime<T>(world: World, promise: Promise<T>): Promise<T> {
  void promise.catch(() => undefined);
  await world.scheduler.flow(3, 1_000);
  return promise;
}
