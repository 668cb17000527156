/**
 * Owns: a simulated world: up to two nodes on one database, a provider, two people, and those who watch the laws.
 * Does not own: what happens in it (`moves.ts`), or how it comes to rest (`quiet.ts`).
 */
import type { Projection } from 'schema/projection';
import type { Batch } from '../../src/ports/journal.ts';
import type { ModelCall } from '../../src/ports/usage.ts';
import { idOf } from './chance.ts';
import { createDisk, type Disk } from './disk.ts';
import { createEffectLaws } from './effect-laws.ts';
import { follow, look, type Follower, type FollowerDeps, type Place } from './follower.ts';
import { createJournalLaws, type JournalLaws } from './journal-laws.ts';
import type { LawId, Violate, Violation } from './laws.ts';
import { ada, startNode, type Node } from './node.ts';
import { createPeople, type People } from './people.ts';
import { createProvider, type Provider } from './provider.ts';
import { createScheduler, type Process, type Scheduler } from './scheduler.ts';
import { createTrap, type Trap } from './trap.ts';

export type NodeId = 'a' | 'b';

export interface World {
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  readonly laws: JournalLaws;
  readonly provider: Provider;
  readonly people: People;
  readonly trap: Trap;
  readonly violate: Violate;
  readonly workstreamId: string;
  readonly followers: readonly Follower[];
  readonly places: readonly Place[];
  /** The first law that did not hold. */
  readonly violation: Violation | null;
  readonly crashes: number;
  /** Throws of a step that a move brought about and that nobody answered for yet. */
  bugs: number;
  /** Living processes that serve. */
  nodes(): readonly Node[];
  node(id: NodeId): Node | null;
  /** The node that has the workstream loaded under the current epoch. */
  owner(): Node | null;
  /** What a person may see of the workstream now. */
  sight(): Projection | null;
  start(id: NodeId): boolean;
  crash(process: Process, why: string): void;
  /** Looks at a node, then follows from there. */
  attach(node: Node): void;
  resume(node: Node, place: Place): void;
  /** Nobody follows from here on until all has come to rest: a workstream's id is never used again in earnest. */
  closeFeeds(): void;
  openFeeds(): void;
  /** What must hold between any two moves. */
  check(): void;
  note(what: string): void;
}

export interface WorldOptions {
  /** Gets a line for everything that happens. */
  readonly trace?: (line: string) => void;
  /** Laws nobody watches here. */
  readonly ignored?: readonly LawId[];
  /** A process dies at this visit to the edge of a commit, a claim or an effect. */
  readonly dieAt?: number;
  /** A process stands still from this visit on, until another has taken its place. */
  readonly standAt?: number;
  /** Gets what lands in the database, in that order. */
  readonly landed?: (landing: Landing) => void;
  /** Gets the world once all has come to rest, if no law failed. */
  readonly atRest?: (world: World) => void;
}

/** `removed`: an administrator deleted the workstream. */
export type Landing =
  | { readonly type: 'published' | 'committed'; readonly batch: Batch }
  | { readonly type: 'removed'; readonly workstreamId: string }
  /** Beside any batch, by who is not the owner any more. */
  | { readonly type: 'counted'; readonly workstreamId: string; readonly calls: readonly ModelCall[] };

/** The same laws, with somebody who looks on. */
const watched = (laws: JournalLaws, landed: (landing: Landing) => void): JournalLaws => ({
  ...laws,
  published(batch) {
    landed({ type: 'published', batch });
    laws.published(batch);
  },
  committed(batch, outcome, who, stored) {
    if (outcome.type === 'committed') landed({ type: 'committed', batch });
    laws.committed(batch, outcome, who, stored);
  },
  removed(workstreamId) {
    landed({ type: 'removed', workstreamId });
    laws.removed(workstreamId);
  },
});

export async function createWorld({
  trace = () => undefined,
  ignored = [],
  dieAt,
  standAt,
  landed = () => undefined,
}: WorldOptions = {}): Promise<World> {
  let violation: Violation | null = null;
  let crashes = 0;
  let ids = 0;
  let jitter = 0;
  let names = 0;
  let workstreamId = '';
  let feedsOpen = true;
  let followers: readonly Follower[] = [];
  let places: readonly Place[] = [];
  const nodes = new Map<NodeId, Node>();
  const lives = new Map<NodeId, number>();

  const violate: Violate = (law, detail) => {
    if (ignored.includes(law)) return;
    violation ??= { law, detail };
    trace(`✗ ${law}: ${detail}`);
  };
  const scheduler = createScheduler(trace);
  const laws = watched(createJournalLaws(violate), landed);
  const trap = createTrap((process, why) => crash(process, why), dieAt ?? null, standAt ?? null);
  const disk = createDisk({
    scheduler,
    laws,
    trap,
    violate,
    counted: (id, calls) => landed({ type: 'counted', workstreamId: id, calls }),
  });
  const effects = createEffectLaws(laws, violate);
  const provider = createProvider({ scheduler, laws: effects, usage: laws.usage, trap });
  const people = createPeople({ laws, violate, scheduler, workstreamId: () => workstreamId, note: trace });

  function crash(process: Process, why: string): void {
    if (!process.alive) return;
    crashes += 1;
    trace(`${process.name} dies: ${why}`);
    end(process);
  }

  function end(process: Process): void {
    process.alive = false;
    // What it sent last may arrive, or not.
    scheduler.forget(process, (index) => (crashes + index) % 2 === 0);
    const served = followers.filter((follower) => follower.node.process === process);
    places = [...places, ...served.map((follower) => follower.place)];
    followers = followers.filter((follower) => !served.includes(follower));
    for (const follower of served) follower.cut();
  }

  function start(id: NodeId): boolean {
    if (nodes.get(id)?.process.alive) return false;
    const life = (lives.get(id) ?? 0) + 1;
    lives.set(id, life);
    const process: Process = {
      name: `${id}${life}`,
      nodeId: id,
      host: `host-${id}`,
      alive: true,
      suspended: false,
      cutOff: false,
    };
    const node = startNode(
      {
        scheduler,
        disk,
        provider,
        ids: { random128: () => idOf((ids += 1)) },
        random: () => ((jitter += 1) * 0.618_033_988_7) % 1,
        onError(process, message, fields) {
          if (message.endsWith('could not be counted')) laws.usage.gaveUp(process);
          if (message === 'a step threw' || message === 'a performer threw') {
            if (world.bugs > 0) world.bugs -= 1;
            else violate('D-71', `${message}: ${String(fields['error'])}`);
          }
        },
        onRobbed({ name }, state) {
          const book = laws.book(state.workstreamId);
          if (book?.incarnation === state.incarnation && book.epoch <= state.epoch)
            violate('D-52', `${name} gave epoch ${state.epoch} up, and nobody took over`);
        },
        exit(ended) {
          trace(`${ended.name} ends`);
          end(ended);
        },
      },
      process,
      id === 'a' ? 0 : -420_000,
    );
    nodes.set(id, node);
    return true;
  }

  const deps = (): FollowerDeps => ({ scheduler, laws, violate, workstreamId });

  function resume(node: Node, place: Place): void {
    // Nobody is taken in by a process that stands still.
    if (!feedsOpen || !node.up || !node.process.alive || node.process.suspended) return;
    names += 1;
    followers = [...followers, follow(deps(), node, `follower ${names} at ${node.process.name}`, place)];
  }

  const alive = (): readonly Node[] => [...nodes.values()].filter((node) => node.process.alive && node.up);

  function owner(): Node | null {
    const book = laws.book(workstreamId);
    const holds = (node: Node): boolean => {
      const state = node.up!.registry.peek(workstreamId)?.state();
      return state?.epoch === book?.epoch && state?.incarnation === book?.incarnation;
    };
    return (book && alive().find(holds)) ?? null;
  }

  const world: World = {
    scheduler,
    disk,
    laws,
    provider,
    people,
    trap,
    violate,
    get workstreamId() {
      return workstreamId;
    },
    get followers() {
      return followers;
    },
    get places() {
      return places;
    },
    get violation() {
      return violation;
    },
    get crashes() {
      return crashes;
    },
    bugs: 0,
    nodes: alive,
    node: (id) => nodes.get(id) ?? null,
    owner,
    sight: () =>
      owner()?.up?.registry.peek(workstreamId)?.state().projection ?? laws.book(workstreamId)?.fold ?? null,
    start,
    crash,
    attach(node) {
      scheduler.later(node.process, `somebody looks at ${node.process.name}`, () => {
        look(deps(), node).then(
          (place) => {
            if (place) resume(node, place);
          },
          (error: unknown) => violate('D-71', `the snapshot broke: ${String(error)}`),
        );
      });
    },
    resume,
    closeFeeds() {
      for (const follower of followers) follower.cut();
      followers = [];
      places = [];
      feedsOpen = false;
    },
    openFeeds: () => void (feedsOpen = true),
    check() {
      for (const follower of followers) follower.compare();
      const holder = owner();
      const actor = holder?.up?.registry.peek(workstreamId);
      if (holder && actor)
        laws.context.holds(holder.process.name, actor.state(), laws.book(workstreamId)!.entries);
      people.check();
      // Who is not followed any more leaves a place behind to come back to.
      const over = followers.filter((follower) => follower.status !== 'following');
      if (over.length === 0) return;
      followers = followers.filter((follower) => !over.includes(follower));
      for (const follower of over) follower.cut();
      places = [...places, ...over.map((follower) => follower.place)].slice(-12);
    },
    note: trace,
  };

  // Also making it may meet with an accident.
  const intent = people.want(ada, { type: 'create' });
  for (let again = 0; again < 5 && !intent.told; again += 1) {
    start('a');
    await scheduler.advance(2_000, true, 1);
    const first = nodes.get('a');
    if (first) people.ask(intent, first);
    await scheduler.flow(1, 20);
  }
  workstreamId = typeof intent.told?.['workstreamId'] === 'string' ? intent.told['workstreamId'] : '';
  if (workstreamId === '') throw new Error('The world could not begin.');
  return world;
}
