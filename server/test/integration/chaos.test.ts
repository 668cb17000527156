/**
 * Owns: what holds of turns whatever their providers and the network do (D-35 to D-38): 500 of them, over the real
 * model adapter, real HTTP and a real database, behind proxies that break answers at every place.
 * Does not own: what each fault is called (`adapters/model`), or each rung of the ladder (`core`).
 *
 * CHAOS_SEED runs it again with the seed that a failure prints; the order in which conversations meet at the slots is
 * the machine's, all else is the seed's.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveTurn, type Entry, type EntryOf, type FeedItem } from 'schema/projection';
import { createRandom, type Random } from '../../../e2e/support/random.ts';
import { brokenLaws, ofKind } from '../../../e2e/support/journal-laws.ts';
import { bindingFor } from '../adapters/model/harness.ts';
import { audit } from '../support/audits.ts';
import { places, startChaosProxy, troubles, type ChaosProxy, type Mishap } from '../support/chaos-proxy.ts';
import { ada, createChaosWorld, newKey, type ChaosWorld } from '../support/chaos-world.ts';
import { createTestClock } from '../support/clock.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import {
  startScriptedProvider,
  type ChatBody,
  type Piece,
  type ScriptedProvider,
  type Step,
} from '../support/scripted-provider.ts';

const seed = Number(process.env['CHAOS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const conversations = 25;
const turnsEach = 20;
/** Of the clock, in which nothing ends, before something is called stuck: far more than the longest ladder takes. */
const patienceMs = 12 * 3_600_000;
/** Most requests for one answer: four attempts, then four of each model after each of what may be asked anew (D-37). */
const maxRequests = 16;
const secret = 'quiet-as-a-mouse-4711';

/** What befalls the requests of a turn. */
type Mood = 'calm' | 'rough' | 'hopeless first' | 'hopeless' | 'stopped';
const moodOf = (tag: string): Mood => {
  const n = randomFor(tag).next();
  if (n < 0.12) return 'calm';
  if (n < 0.22) return 'hopeless first';
  if (n < 0.27) return 'hopeless';
  return n < 0.37 ? 'stopped' : 'rough';
};

/** The same for the same words, whoever asks first. */
function randomFor(...words: readonly (string | number)[]): Random {
  let hash = seed;
  for (const character of words.join(' ')) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  return createRandom(hash);
}

let database: TestDatabase;
let provider: ScriptedProvider;
let proxies: readonly ChaosProxy[];
let world: ChaosWorld;
const clock = createTestClock();

/** What the provider said, by the number of the request. */
const said = new Map<number, { readonly tag: string; readonly text: string; readonly reasoning: string }>();
/** How often each answer was asked for, by turn and round. */
const asked = new Map<string, number>();
const happened = new Map<string, number>();
const count = (map: Map<string, number>, key: string): number => {
  const n = (map.get(key) ?? 0) + 1;
  map.set(key, n);
  return n;
};

const tagIn = ({ messages }: ChatBody): { readonly tag: string; readonly round: number } | null => {
  const at = messages.findLastIndex((message) => message.role === 'user');
  const tag = /\[(w\d+t\d+)\]/.exec(String(messages[at]?.content))?.[1];
  if (tag === undefined) return null;
  return { tag, round: messages.slice(at).filter((message) => message.role === 'assistant').length };
};

// ---- what the provider says ----

interface Round {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
}

const words = [
  'Ümlaut',
  'the file',
  'is empty;',
  '👩‍🚀',
  'so',
  'look again',
  '\n\n',
  '"quoted"',
  '<b>',
] as const;

/** The same at each attempt, but for the number of the request in its text: no two answers can be taken for one. */
function roundOf(tag: string, round: number, n: number): Round {
  const random = randomFor(tag, round, 'script');
  const rounds = randomFor(tag, 'rounds').between(0, 3);
  const some = (): string =>
    Array.from({ length: random.between(1, 12) }, () => random.pick(words)).join(' ');
  const isLast = round >= rounds;
  const calls = Array.from({ length: isLast ? 0 : random.between(1, 4) }, (_, i) => ({
    name: random.pick(['look', 'look', 'fail']),
    arguments: JSON.stringify({ call: `${tag}r${round}c${i}`, of: some() }),
  }));
  return {
    calls,
    text: isLast || random.chance(0.6) ? `${n}» ${some()} «${n}` : '',
    reasoning: random.chance(0.5) ? `${n}? ${some()} ?${n}` : '',
  };
}

function stepOf({ text, reasoning, calls }: Round, random: Random): Step {
  const cut = (whole: string): readonly string[] => {
    const characters = [...whole];
    const at = random.between(0, characters.length);
    return [characters.slice(0, at).join(''), characters.slice(at).join('')].filter((part) => part !== '');
  };
  const piece = (delta: object): Piece => ({
    chunk: { choices: [{ index: 0, delta, finish_reason: null }] },
  });
  const begun = calls.map((call, index) =>
    piece({ tool_calls: [{ index, id: `c${index}`, function: { name: call.name, arguments: '' } }] }),
  );
  // Their arguments come in parts, and by turns.
  const parts = calls.flatMap((call, index) =>
    cut(call.arguments).map((part) => piece({ tool_calls: [{ index, function: { arguments: part } }] })),
  );
  return {
    stream: [...cut(reasoning).map((part) => ({ reasoning: part })), ...cut(text), ...begun, ...parts],
    finish: calls.length > 0 ? 'tool_calls' : 'stop',
  };
}

// ---- what goes wrong ----

/** Another answer in place of the provider's; each repeats the credentials it was sent, as gateways have done. */
function insteads(authorization: string): readonly Mishap[] {
  const key = `${authorization.replace('Bearer ', '')}, sent as ${authorization}`;
  const json = (
    name: string,
    status: number,
    error: object,
    headers: Readonly<Record<string, string>> = {},
  ) =>
    ({
      type: 'instead',
      name,
      status,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ error: { message: `${name} for ${key}`, ...error } }),
    }) as const;
  const page = (status: number) =>
    ({
      type: 'instead',
      name: `page ${status}`,
      status,
      headers: { 'content-type': 'text/html' },
      body: `<html><body><h1>Bad Gateway</h1>${key}</body></html>`,
    }) as const;
  const later = new Date(clock.now() + 30_000).toUTCString();
  return [
    json('429', 429, {}),
    json('429 in 2 s', 429, {}, { 'retry-after': '2' }),
    json('429 in 1500 ms', 429, {}, { 'retry-after-ms': '1500' }),
    json('429 at a date', 429, {}, { 'retry-after': later }),
    json('429 in an hour', 429, {}, { 'retry-after': '3600' }),
    json('503', 503, {}),
    json('503 in 61 s', 503, {}, { 'retry-after': '61' }),
    json('error in a 200', 200, { type: 'server_error' }),
    page(200),
    page(502),
  ];
}

const hopeless = ['503', '429 in an hour', 'page 200', 'page 502', '429'] as const;
const everything: readonly (Mishap | 'instead')[] = [
  ...troubles.flatMap((trouble) => places.map((place) => ({ type: 'broken', trouble, place }) as const)),
  // As often as a fifth of the broken ones.
  ...Array.from({ length: 10 }, () => 'instead' as const),
];

function choose(lane: 'first' | 'second', random: Random) {
  return (body: ChatBody, headers: { readonly authorization?: string | undefined }): Mishap | null => {
    const key = headers.authorization ?? '';
    const turn = tagIn(body);
    if (!turn) return random.chance(0.3) ? random.pick(insteads(key)) : null;
    const { tag, round } = turn;
    count(asked, `${tag} round ${round}`);
    const mood = moodOf(tag);
    const lost = mood === 'hopeless' || (mood === 'hopeless first' && lane === 'first');
    if (lost) return insteads(key).find((one) => nameOf(one) === randomFor(tag, lane).pick(hopeless))!;
    if (mood !== 'rough' || random.chance(0.45)) return null;
    const drawn = random.pick(everything);
    const mishap = drawn === 'instead' ? random.pick(insteads(key)) : drawn;
    count(happened, nameOf(mishap));
    return mishap;
  };
}

const nameOf = (mishap: Mishap): string =>
  mishap.type === 'instead' ? mishap.name : `${mishap.trouble} ${mishap.place}`;

// ---- the run ----

beforeAll(async () => {
  provider = await startScriptedProvider();
  provider.respond((body, n) => {
    const turn = tagIn(body);
    if (!turn) throw new Error('a request without a turn');
    const round = roundOf(turn.tag, turn.round, n);
    said.set(n, { tag: turn.tag, text: round.text, reasoning: round.reasoning });
    return stepOf(round, randomFor(turn.tag, n, 'pieces'));
  });
  const proxy = (lane: 'first' | 'second') => {
    const random = createRandom(seed ^ lane.length);
    const onStall = (): void => world.look();
    return startChaosProxy({ target: provider.url, random, choose: choose(lane, random), onStall });
  };
  proxies = [await proxy('first'), await proxy('second')];
  database = await createDatabase();
  const common = { model: 'scripted', concurrency: 2, apiKey: secret, source: 'FILE' } as const;
  world = await createChaosWorld({
    clock,
    storage: await database.openStorage(),
    stalled: () => proxies.reduce((sum, one) => sum + one.stalled(), 0),
    bindings: [
      bindingFor(proxies[0]!.url, { ...common, alias: 'first', fallbacks: ['second'] }),
      bindingFor(proxies[1]!.url, { ...common, alias: 'second' }),
    ],
  });
});
afterAll(async () => {
  await world?.stop();
  await Promise.all(proxies?.map((one) => one.close()) ?? []);
  await provider?.close();
  await database?.drop();
});

/** Says something and waits until the turn that comes of it has ended and is stored. */
async function oneTurn(id: string, tag: string): Promise<void> {
  const random = randomFor(tag, 'person');
  const ended = new Promise<void>((resolve) => {
    let over = 0;
    let itemsToStop = moodOf(tag) === 'stopped' ? random.between(0, 14) : Infinity;
    const leave = world.onItem((of, item) => {
      if (of !== id) return;
      if (itemsToStop-- === 0) void stop(id, random.chance(0.2));
      if (item.type === 'EntryAdmitted' && item.entry.kind === 'TURN' && item.entry.turn.outcome)
        over = item.entry.revision;
      if (over > 0 && item.type === 'EntriesDurable' && item.durableThrough >= over) {
        leave();
        world.progress();
        resolve();
      }
    });
  });
  const text = `Please [${tag}].`;
  const input = { key: newKey(), workstreamId: id, text, delivery: 'QUEUE', turnId: null } as const;
  const outcome = await world.services.messages.send(ada, input);
  if (outcome.type !== 'Accepted') throw new Error(`${tag} was refused: ${outcome.message}`);
  await ended;
}

/** Nothing is owed to one that comes too late. */
const stop = (workstreamId: string, force: boolean): Promise<unknown> =>
  world.services.turns.stop(ada, { key: newKey(), workstreamId, turnId: null, force });

async function oneConversation(n: number): Promise<string> {
  const created = await world.services.workstreams.create(
    ada,
    {
      key: newKey(),
      title: null,
      model: 'first',
      temperature: null,
      effort: null,
      workspace: null,
      approvalMode: null,
      instructions: null,
      tokenBudget: null,
    },
    new AbortController().signal,
  );
  if (created.type !== 'Accepted') throw new Error(created.message);
  for (let turn = 0; turn < turnsEach; turn += 1) await oneTurn(created.workstreamId, `w${n}t${turn}`);
  return created.workstreamId;
}

// ---- what must hold ----

interface Story {
  readonly tag: string;
  readonly mood: Mood;
  readonly entries: readonly Entry[];
  readonly turn: EntryOf<'TURN'>['turn'];
}

const storiesOf = (entries: readonly Entry[]): readonly Story[] =>
  ofKind(entries, 'USER').map((user) => {
    const tag = /\[(.+)\]/.exec(user.text)![1]!;
    const own = entries.filter((entry) => entry.turnId === user.turnId);
    return { tag, mood: moodOf(tag), entries: own, turn: ofKind(own, 'TURN').at(-1)!.turn };
  });

/** One answer that the provider gave, whole; what is kept of one that broke off is its beginning (D-37). */
function splices({ tag, entries }: Story): readonly string[] {
  const own = [...said.values()].filter((one) => one.tag === tag);
  const whole = ofKind(entries, 'ASSISTANT')
    .filter((e) => !own.some((one) => one.text === e.text && one.reasoning === e.reasoning))
    .map((e) => `no answer is ${JSON.stringify([e.reasoning, e.text])}`);
  const partial = ofKind(entries, 'CANCELLATION')
    .filter((e) => !own.some((one) => one.text.startsWith(e.text) && one.reasoning.startsWith(e.reasoning)))
    .map((e) => `no answer begins with ${JSON.stringify([e.reasoning, e.text])}`);
  return [...whole, ...partial];
}

/** The calls that the script declares in each round, each run as it says, and once (D-35). */
function wrongCalls({ tag, entries, turn }: Story): readonly string[] {
  return ofKind(entries, 'ASSISTANT').flatMap((answer, round) => {
    const expected = roundOf(tag, round, 0).calls;
    const declared = answer.calls.map(({ name, arguments: input }) => ({ name, arguments: input }));
    const wrong =
      JSON.stringify(declared) === JSON.stringify(expected)
        ? []
        : [`round ${round} declares ${JSON.stringify(declared)}`];
    const notRun = answer.calls.flatMap(({ callId, arguments: input }) => {
      const results = ofKind(entries, 'TOOL').filter((e) => e.callId === callId);
      const runs = world.runs.filter((run) => run.callId === callId).length;
      const same = world.runs.filter((run) => run.arguments === input).length;
      if (results.length !== 1) return [`call ${input} has ${results.length} results`];
      if (runs > 1 || same > 1) return [`call ${input} ran ${Math.max(runs, same)} times`];
      const ran = results[0]!.outcome === 'OK' || results[0]!.outcome === 'ERROR';
      if (ran !== (runs === 1) && turn.outcome!.type !== 'CANCELED')
        return [`call ${input} is ${results[0]!.outcome} and ran ${runs} times`];
      return [];
    });
    return [...wrong, ...notRun];
  });
}

function wrongEnd({ mood, entries, turn }: Story): readonly string[] {
  const { type, reason, message } = turn.outcome!;
  const aliases = ofKind(entries, 'ASSISTANT').map((e) => e.alias);
  if (type === 'CANCELED') return mood === 'stopped' ? [] : ['nobody stopped it'];
  if (type === 'COMPLETED') {
    if (mood === 'hopeless') return ['it cannot have been answered'];
    return mood === 'hopeless first' && aliases.some((alias) => alias !== 'second')
      ? [`${aliases.join()} answered, and only the second can`]
      : [];
  }
  if (mood === 'calm' || mood === 'stopped' || mood === 'hopeless first')
    return [`it failed, and another model would have answered: ${message}`];
  // Which model, where, what, and what to do.
  const hosts = proxies.map((one) => one.host).join('|');
  const sentence = new RegExp(
    `^Model "(first|second)" \\(scripted at (${hosts})\\) [^;]+; (check|try|wait|say|choose|look|let|ask|start) .+\\.$`,
  );
  const told = sentence.test(message) && reason.startsWith('MODEL_');
  const names = mood !== 'hopeless' || (/first/.test(message) && /second/.test(message));
  return told && names ? [] : [`its end says ${reason}: ${message}`];
}

/** What is void is said to be void before its successor speaks, and is heard of no more (D-8, D-37). */
function wrongStreams(items: readonly FeedItem[]): readonly string[] {
  const wrong: string[] = [];
  const closed = new Set<string>();
  let open: string | null = null;
  for (const item of items) {
    if (item.type === 'StreamChunk') {
      if (closed.has(item.messageId)) wrong.push(`a piece of ${item.messageId} comes after its end`);
      if (open !== null && open !== item.messageId)
        wrong.push(`${item.messageId} speaks while ${open} stands`);
      open = item.messageId;
    }
    const over =
      item.type === 'StreamReset'
        ? item.messageId
        : item.type === 'EntryAdmitted' && ['ASSISTANT', 'CANCELLATION'].includes(item.entry.kind)
          ? item.entry.id
          : null;
    if (over === null) continue;
    closed.add(over);
    if (open !== null && open !== over) wrong.push(`${over} ends while ${open} stands`);
    open = null;
  }
  return open === null ? wrong : [...wrong, `${open} stands at the end`];
}

const tooPatient = (items: readonly FeedItem[]): readonly string[] =>
  items.flatMap((item) => {
    const wait = item.type === 'Notice' ? /Trying again in (\d+) s/.exec(item.message)?.[1] : undefined;
    return Number(wait ?? 0) > 60 ? [`it waits ${wait} s`] : [];
  });

describe(`500 turns in chaos (CHAOS_SEED=${seed})`, () => {
  let stories: readonly Story[] = [];
  let feeds: readonly (readonly FeedItem[])[] = [];
  let journals: readonly (readonly Entry[])[] = [];

  /** What is wrong, by turn. */
  const broken = (find: (story: Story) => readonly string[]): readonly string[] =>
    stories.flatMap((story) => find(story).map((what) => `${story.tag} (${story.mood}): ${what}`));

  it('none is stuck', { timeout: 480_000 }, async () => {
    const all = Promise.all(Array.from({ length: conversations }, (_, n) => oneConversation(n)));
    const ids = await world.live(all, patienceMs);
    feeds = ids.map((id) => world.items(id));
    journals = await Promise.all(ids.map((id) => world.registry.load(id))).then((loaded) =>
      Promise.all(
        loaded.map((one, i) => {
          if (one.type !== 'loaded') throw new Error(one.code);
          expect(liveTurn(one.actor.state().projection)).toBeNull();
          const through = one.actor.state().projection.revision;
          return world.read(ids[i]!, through);
        }),
      ),
    );
    stories = journals.flatMap(storiesOf);
    expect(stories).toHaveLength(conversations * turnsEach);
  });

  it('every slot is free at the end, and nobody waits (D-36)', () => {
    const counts = world.model.list().map(({ alias, inUse, waiting }) => ({ alias, inUse, waiting }));
    expect(counts).toMatchObject([
      { alias: 'first', inUse: 0, waiting: 0 },
      { alias: 'second', inUse: 0, waiting: 0 },
      { alias: 'demo', inUse: 0, waiting: 0 },
    ]);
  });

  it('each ends as it must, and a failure names model and endpoint and says what to do (D-37)', () => {
    expect(broken(wrongEnd)).toEqual([]);
  });

  it('no text is spliced of two answers (D-37)', () => {
    expect(broken(splices)).toEqual([]);
  });

  it('each declared call is answered once and runs at most once (D-35)', () => {
    expect(broken(wrongCalls)).toEqual([]);
  });

  it('the journals keep their laws, in the feed and in the database', async () => {
    expect(journals.flatMap((entries) => brokenLaws(entries, { settled: true }))).toEqual([]);
    expect(await audit((sql) => database.sql(sql))).toEqual([]);
  });

  it('what is void is voided before its successor speaks (D-8, D-37)', () => {
    expect(feeds.flatMap(wrongStreams)).toEqual([]);
  });

  it('no answer is asked for without end, and nobody is waited for longer than a minute (D-37)', () => {
    expect([...asked].filter(([, times]) => times > maxRequests)).toEqual([]);
    expect(feeds.flatMap(tooPatient)).toEqual([]);
  });

  it('no credential is in an entry, a feed or the log', () => {
    const everywhere = JSON.stringify([journals, feeds, world.log]);
    expect(everywhere).toContain('[hidden]');
    expect(everywhere).not.toContain(secret);
  });

  it('was chaos: every trouble at every place, and every end', () => {
    const wanted = [
      ...everything.flatMap((one) => (one === 'instead' ? [] : [nameOf(one)])),
      ...insteads('').map(nameOf),
    ];
    expect(wanted.filter((name) => !happened.has(name))).toEqual([]);
    const ends = new Map<string, number>();
    for (const { turn } of stories) count(ends, turn.outcome!.type);
    const heard = new Map<string, number>();
    for (const item of feeds.flat()) count(heard, item.type === 'Notice' ? item.code : item.type);
    const seen = { ...Object.fromEntries(ends), ...Object.fromEntries(heard) };
    console.info(
      JSON.stringify({ seed, clockHours: Math.round((clock.now() - Date.UTC(2026, 0, 1)) / 36e5), ...seen }),
    );
    for (const [what, least] of Object.entries({
      COMPLETED: 300,
      FAILED: 10,
      CANCELED: 10,
      StreamReset: 30,
      MODEL_RETRY: 100,
      MODEL_FALLBACK: 30,
      MODEL_WAITING: 100,
    }))
      expect(seen[what], what).toBeGreaterThanOrEqual(least);
  });
});
