/**
 * Owns: following recorded journals over a feed that misbehaves at every place of them in turn: cut, silent, repeated,
 * out of order, away. A failure prints its seed; `FOLLOW_SEED` repeats it.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { follow } from '../../src/client-kit/follow.ts';
import type { Followed } from '../../src/client-kit/followed.ts';
import type { Transport } from '../../src/client-kit/transport.ts';
import { applyEntries, emptyProjection, type Entry, type EntryBody } from '../../src/projection/index.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { anyJournal } from '../projection/journals.ts';
import { createInProcess, hastyPace, servicesOf, until } from './support/in-process.ts';
import { createWorld, type World } from './support/world.ts';

const id = workstreamGlobalId('w1');
const seed = process.env['FOLLOW_SEED'] === undefined ? {} : { seed: Number(process.env['FOLLOW_SEED']) };

/** What happens to a workstream. A takeover loses what was not durable; what follows is written in its place. */
type Step =
  | { readonly do: 'write'; readonly body: EntryBody }
  | { readonly do: 'acknowledge' | 'take over' | 'rewind' };

/** A random journal, durable only here and there, with takeovers and rewinds between. */
const record: fc.Arbitrary<readonly Step[]> = anyJournal.chain((journal) =>
  fc
    .array(fc.constantFrom('acknowledge', 'acknowledge', 'nothing', 'take over', 'rewind'), {
      minLength: journal.length,
      maxLength: journal.length,
    })
    .map((then) =>
      journal.flatMap((entry, i): Step[] => {
        const write: Step = { do: 'write', body: bodyOf(entry) };
        const next = then[i]!;
        return next === 'nothing' ? [write] : [write, { do: next }];
      }),
    ),
);

/** An entry without its place: where it stands is the world's to say. */
function bodyOf(entry: Entry): EntryBody {
  const place = new Set(['id', 'revision', 'epoch', 'generation', 'lane', 'turnId', 'at']);
  return Object.fromEntries(
    Object.entries(entry).filter(([name]) => !place.has(name)),
  ) as unknown as EntryBody;
}

function play(world: World, step: Step): void {
  const head = world.entries.length;
  if (step.do === 'write') {
    const { body } = step;
    // A rewind that was recorded at another place goes back, never forward.
    world.put(body.kind === 'REWIND' ? { ...body, after: Math.min(body.after, head) } : body);
  } else if (step.do === 'acknowledge') world.acknowledge(head);
  else if (step.do === 'take over') world.takeOver();
  else world.put({ kind: 'REWIND', after: head >> 1, reason: 'REWIND', by: { id: 'a', name: 'A' } });
}

/** What is wrong with the feed at one place. */
const troubles: Readonly<Record<string, (world: World, transport: { cut(): void }) => void>> = {
  cut: (_world, transport) => {
    transport.cut();
  },
  'a dropped wake': (world) => {
    world.admitUnsent();
  },
  'a repeat': (world) => {
    for (const revision of [1, world.entries.length >> 1, world.entries.length]) world.repeat(revision);
  },
  'a wrong order': (world) => {
    world.admitSwapped();
  },
  'a demand for a snapshot': (world) => {
    world.demandSnapshot();
  },
  'an end that can be resumed': (world) => {
    world.end(true);
  },
};

/** Follows, and keeps every breach of what a reader may rely on. */
function begin(world: World) {
  const breaches: string[] = [];
  const inner = createInProcess(servicesOf(world));
  const counting: Transport = {
    ...inner,
    subscribe: (document, variables, sink) => {
      let synchronized = 0;
      return inner.subscribe(document, variables, {
        next: (data) => {
          const { workstreamFeed } = data as { readonly workstreamFeed: { readonly __typename: string } };
          if (workstreamFeed.__typename === 'Synchronized') synchronized += 1;
          if (synchronized > 1) breaches.push('a second Synchronized');
          sink.next(data);
        },
        end: (failure) => {
          sink.end(failure);
        },
      });
    },
  };
  /** Every journal that was true at some time, by the id of its last entry: ids are never used again. */
  const truths = new Map<string, readonly Entry[]>([['', []]]);
  const remember = () => {
    for (const [i, entry] of world.entries.entries())
      if (!truths.has(entry.id)) truths.set(entry.id, world.entries.slice(0, i + 1));
  };
  let now: Followed | null = null;
  const follower = follow({ transport: counting, pace: hastyPace() }, id, (followed) => {
    now = followed;
    if (!followed.known) return;
    remember();
    const { entries, view } = followed.known;
    const truth = truths.get(entries.at(-1)?.id ?? '') ?? [];
    const { revision } = view.base;
    const fold = (through: number) => applyEntries(emptyProjection, truth.slice(0, through));
    if (!isDeepStrictEqual(entries, truth.slice(-entries.length || truth.length)))
      breaches.push('not each entry once, in order');
    if (!isDeepStrictEqual(view.projection, fold(truth.length)))
      breaches.push(`another fold than a snapshot has at ${truth.length}`);
    if (!isDeepStrictEqual(view.base, fold(revision))) breaches.push(`another durable fold at ${revision}`);
  });
  const caughtUp = () =>
    until('it has caught up', () => {
      world.heartbeat();
      const view = now?.known?.view;
      return (
        now?.connection.status === 'CONNECTED' &&
        view?.projection.revision === world.entries.length &&
        view.base.revision === world.durableThrough &&
        view.epoch === world.epoch &&
        isDeepStrictEqual(now.known?.entries.at(-1), world.entries.at(-1))
      );
    });
  return { transport: inner, breaches, remember, follower, caughtUp };
}

it.each(Object.keys(troubles))(
  'D-53 D-54 D-55 D-58 I7 %s at any place of any record: each entry once, in order, folded as a snapshot is, one Synchronized',
  async (trouble) => {
    await fc.assert(
      fc.asyncProperty(record, fc.nat(5), async (steps, breath) => {
        for (let place = 0; place <= steps.length; place += 1) {
          const world = createWorld(() => ({ kind: 'SYSTEM', text: 'note', source: 'test' }));
          world.admit();
          const { transport, breaches, remember, follower, caughtUp } = begin(world);
          await caughtUp();
          for (const [i, step] of [...steps, null].entries()) {
            if (i === place) troubles[trouble]!(world, transport);
            remember();
            if (step) play(world, step);
            remember();
            for (let n = 0; n < (i + breath) % 4; n += 1) await new Promise((r) => setImmediate(r));
          }
          await caughtUp();
          follower.stop();
          expect({ place, breaches }).toEqual({ place, breaches: [] });
        }
      }),
      { numRuns: Number(process.env['FOLLOW_RUNS'] ?? 4), ...seed },
    );
  },
);
