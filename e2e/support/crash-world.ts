/**
 * Owns: a server that dies again and again under people who do not give up: its lives, a follower that goes on through
 * all of them, commands repeated under their key, and the moments at which it is killed.
 * Does not own: what must hold afterwards (`../specs/crash.test.ts`, `journal-laws.ts`).
 *
 * Invariants: a moment is a fact that came true (an item seen, a request come, an answer given) and then a seeded
 * instant; whatever is repeated is repeated under the key it was first sent with (D-60).
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Followed } from '../../schema/src/client-kit/followed.ts';
import { follow } from '../../schema/src/client-kit/follow.ts';
import type { Transport } from '../../schema/src/client-kit/transport.ts';
import { hasty, newKey, RequestFailed, type Api, type Result } from './api.ts';
import type { Random } from './random.ts';
import {
  become,
  makePlace,
  removePlace,
  spawnWeir,
  type Place,
  type Weir,
  type WeirOptions,
} from './weir.ts';

/** What can be counted; each is told as it happens. */
export type Fact = 'item' | 'request' | 'stream' | 'started' | 'settled' | 'sent' | 'answered';

/** A command on its way: repeated until it is durable or refused for good. */
export interface Command {
  readonly what: string;
  readonly key: string;
  /** Ticks of the world: when it was first sent and when it was answered. */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** DURABLE, or a refusal that stays. */
  readonly result: Result;
  /** Sends it once more, as a client that lost the answer would. */
  repeat(): Promise<Result>;
}

export interface CrashWorld {
  readonly place: Place;
  readonly random: Random;
  readonly commands: readonly Command[];
  /** How often a server of this world was killed, and how often it was started. */
  readonly kills: number;
  readonly lives: number;
  tell(fact: Fact): void;
  /** Resolves when the fact has been told so many more times. */
  count(fact: Fact, times: number): Promise<void>;
  /** The API of the server that runs, as soon as one does. */
  api(): Promise<Api>;
  start(): Promise<Weir>;
  /** Kills the running server after a seeded instant of at most `ms`. */
  kill(ms: number): Promise<void>;
  /** Starts a server and kills it while it starts, or just after it said that it runs. */
  killInStart(): Promise<void>;
  /** Sends a command, again and again under one key, over as many lives as it takes. */
  command<R extends Result>(what: string, send: (api: Api, key: string) => Promise<R>): Promise<R>;
  /** Follows a workstream through all lives. */
  follow(workstreamId: string, observe: (followed: Followed) => void): () => void;
  end(): Promise<void>;
}

/** How often a server may answer that it cannot yet. */
const patience = 10;

export async function createCrashWorld(random: Random, options: WeirOptions): Promise<CrashWorld> {
  const place = makePlace();
  const commands: Command[] = [];
  const facts = new Set<{ readonly fact: Fact; left: number; readonly resolve: () => void }>();
  const waitingForLife = new Set<(api: Api) => void>();
  const followers = new Set<{ nudge(): void; stop(): void }>();
  let weir = await become(spawnWeir(place, options), place, options);
  const token = await weir.signIn();
  let api: Api | null = weir.api(token);
  let tick = 0;
  let kills = 0;
  let lives = 1;
  let over = false;

  function arrive(next: Weir): Weir {
    weir = next;
    api = next.api(token);
    for (const resolve of waitingForLife) resolve(api);
    waitingForLife.clear();
    for (const follower of followers) follower.nudge();
    return next;
  }

  function tell(fact: Fact): void {
    for (const waiting of facts) {
      if (waiting.fact !== fact || --waiting.left > 0) continue;
      facts.delete(waiting);
      waiting.resolve();
    }
  }

  const living = (): Promise<Api> =>
    api ? Promise.resolve(api) : new Promise((resolve) => waitingForLife.add(resolve));

  /** The transport of whichever server runs; between two lives nothing can be reached. */
  const transport: Transport = {
    request: (document, variables, signal) =>
      api
        ? api.transport.request(document, variables, signal)
        : Promise.resolve({ ok: false, failure: { type: 'Network', message: 'Nothing runs.' } }),
    subscribe(document, variables, sink) {
      if (api) return api.transport.subscribe(document, variables, sink);
      let open = true;
      queueMicrotask(() => {
        if (open) sink.end({ type: 'Network', message: 'Nothing runs.' });
      });
      return () => (open = false);
    },
    onConnected: () => () => undefined,
    isDown: () => false,
    dispose: () => undefined,
  };

  async function persist<R extends Result>(send: (api: Api) => Promise<R>): Promise<R> {
    for (let answered = 0; ;) {
      const asked = await living();
      tell('sent');
      try {
        const result = await send(asked);
        tell('answered');
        if (result.durability === 'DURABLE' || result.retryable === false) return result;
        if (++answered === patience) throw new Error(`Still answered ${JSON.stringify(result)}`);
      } catch (error) {
        const lost = error instanceof RequestFailed && error.failure.type === 'Network';
        if (!lost) throw error;
      }
      if (over) throw new Error('The world ended before the command was answered.');
      // The same server may still be up: a client pauses before it tries again.
      await delay(20);
    }
  }

  return {
    place,
    random,
    commands,
    get kills() {
      return kills;
    },
    get lives() {
      return lives;
    },
    tell,
    count: (fact, times) => new Promise((resolve) => facts.add({ fact, left: times, resolve })),
    api: living,
    async start() {
      lives++;
      return arrive(await become(spawnWeir(place, options), place, options));
    },
    async kill(ms) {
      spin(random.next() * ms);
      const dying = api;
      const dead = weir.kill('SIGKILL');
      api = null;
      kills++;
      await dead;
      dying?.dispose();
    },
    async killInStart() {
      lives++;
      kills++;
      const child = spawnWeir(place, options);
      // While it reads, connects and migrates, or else just when it begins to carry turns on.
      const early = random.chance(0.5) ? delay(random.between(50, 1_500)) : null;
      await Promise.race([...(early ? [early] : []), child.printed(/#code=/)]);
      spin(random.next() * 40);
      await child.kill('SIGKILL');
    },
    async command(what, send) {
      const key = newKey();
      const sentAt = tick++;
      const result = await persist((asked) => send(asked, key));
      const answeredAt = tick++;
      const repeat = (): Promise<Result> => persist((asked) => send(asked, key));
      commands.push({ what, key, sentAt, answeredAt, result, repeat });
      return result;
    },
    follow(workstreamId, observe) {
      const follower = follow({ transport, pace: hasty }, workstreamId, observe);
      followers.add(follower);
      return () => {
        followers.delete(follower);
        follower.stop();
      };
    },
    async end() {
      over = true;
      for (const follower of followers) follower.stop();
      api?.dispose();
      await weir.kill('SIGKILL');
      await removePlace(place);
    },
  };
}

/** Lets so many milliseconds pass without letting anything else happen in this process. */
function spin(ms: number): void {
  const instant = performance.now() + ms;
  while (performance.now() < instant);
}
