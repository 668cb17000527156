/**
 * Owns: that a conversation of any length runs in a small window (D-39, D-40): 2,000 turns, over a real server, a real
 * database and an endpoint that counts by itself and takes nothing that does not fit.
 * Does not own: when and what is summarised (core), or endpoints that do not play along (`context-hopeless.test.ts`).
 *
 * What is read is of all kinds, which no estimate takes for what an endpoint counts: a request may be refused, but rarely,
 * and never twice.
 *
 * CONTEXT_SEED runs it again with the seed that a failure prints, CONTEXT_TURNS with so many turns.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Entry } from 'schema/projection';
import { createRandom, type Random } from '../../../e2e/support/random.ts';
import { brokenLaws, ofKind } from '../../../e2e/support/journal-laws.ts';
import type { Api } from '../../../e2e/support/api.ts';
import { makePlace, removePlace } from '../../../e2e/support/weir.ts';
import type { ChatBody } from '../support/scripted-provider.ts';
import { asksForSummary, strictly, type Answer, type Seen } from '../support/context-endpoint.ts';
import { setBench, type Bench } from './support.ts';

const seed = Number(process.env['CONTEXT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const turns = Number(process.env['CONTEXT_TURNS'] ?? 2_000);
const window = 8_000;
const random = createRandom(seed);

// ---- what there is to read ----

const words =
  'the of a file server reads writes waits and then Größe naïve journal entry commit 42 token.'.split(' ');
const prose = (r: Random, units: number): string => {
  let text = '';
  while (text.length < units) text += `${r.pick(words)}${r.chance(0.1) ? '\n' : ' '}`;
  return text.slice(0, units);
};
const hex = (r: Random, units: number): string => {
  let text = '';
  while (text.length < units) text += r.between(0, 2 ** 31).toString(16);
  return text.slice(0, units);
};
const kinds: readonly ((r: Random, units: number) => string)[] = [
  prose,
  hex,
  (r, units) => '漢字仮名交じり文。'.repeat(units / 9 + 1).slice(0, units),
  (r, units) => '👩‍🚀 ok; '.repeat(units / 9 + 1).slice(0, units - (units % 9)),
  (r, units) =>
    `{"id": "${hex(r, 16)}", "n": [1, 2.5, null], "path": "src/a/b.ts"},\n`
      .repeat(units / 60 + 1)
      .slice(0, units),
  (r, units) =>
    `  if (a.b !== c[${r.between(0, 99)}]) {\n    return wait(() => d);\n  }\n`
      .repeat(units / 50 + 1)
      .slice(0, units),
];
const sizes = [0, 1, 30, 300, 2_000, 5_000, 12_000, 40_000, 200_000, 600_000] as const;
const files = sizes.flatMap((size) => kinds.map((_, kind) => ({ name: `${size}-${kind}.txt`, size, kind })));
/** Most of what tools say is short. */
const pickFile = (r: Random): string => {
  const most = r.chance(0.05) ? 600_000 : r.chance(0.3) ? 12_000 : 2_000;
  return r.pick(files.filter(({ size }) => size <= most)).name;
};

// ---- what is said ----

const textOf = (n: number): string => {
  const r = createRandom(seed ^ n);
  const units = r.chance(0.05) ? r.between(1_000, 4_000) : r.between(10, 600);
  return `[turn ${n}] ${prose(r, units).trim()}`;
};
const roundsOf = (n: number): number => (n % 2 === 0 ? createRandom(seed ^ (n + 7)).between(1, 3) : 0);

let current = 0;
let rounds = 0;
const lost: string[] = [];
const failed: string[] = [];

function say(body: ChatBody): Answer {
  if (asksForSummary(body)) {
    const draw = random.next();
    // It says again what it was shown, is short, or does not know how to end.
    if (draw < 0.1) return { text: String(body.messages.at(-1)!.content).slice(0, 20_000) };
    return { text: prose(random, draw < 0.8 ? random.between(100, 3_000) : 15_000) };
  }
  // Lowered as it is, or word for word behind the summary (G2).
  if (!body.messages.some((m) => m.role === 'user' && String(m.content).includes(textOf(current))))
    lost.push(`turn ${current}: what the person asked for is not in the request`);
  const advised = String(body.messages.at(-1)?.content).includes('your context is');
  if (rounds >= roundsOf(current) || (advised && random.chance(0.7)))
    return { text: prose(random, random.chance(0.1) ? 3_000 : random.between(1, 900)) };
  rounds += 1;
  return {
    text: random.chance(0.5) ? '' : 'I look. ',
    calls: Array.from({ length: random.between(1, 4) }, () => ({
      name: 'read_file',
      arguments: { path: random.chance(0.05) ? 'not there.txt' : pickFile(random) },
    })),
  };
}

// ---- the run ----

const place = makePlace();
const seen: Seen[] = [];
let bench: Bench;
let api: Api;
let id: string;
let pid: number;
let entries: readonly Entry[];

beforeAll(async () => {
  bench = await setBench();
  const config = join(place.root, 'weir.config.json');
  const model = { endpoint: bench.provider.url, model: 'scripted', window };
  writeFileSync(config, JSON.stringify({ models: { small: model } }));
  const workspace = join(place.workspaces, 'long');
  mkdirSync(workspace);
  for (const { name, size, kind } of files) writeFileSync(join(workspace, name), kinds[kind]!(random, size));
  const joined = await bench.join({ env: { WEIR_CONFIG: config, WEIR_WORKSPACES: place.workspaces } });
  api = joined.api;
  pid = joined.weir.pid;
  id = await api.create({ model: 'small', workspace });
  bench.provider.respond(strictly(window, seen, say));
});
afterAll(async () => {
  await bench?.end();
  await removePlace(place);
});

describe(`${turns} turns in a window of ${window} tokens (CONTEXT_SEED=${seed})`, () => {
  it('each is answered', { timeout: 600_000 }, async () => {
    const { cursor } = await api.snapshot(id);
    const feed = api.follow(id, cursor);
    const begun = performance.now();
    let ended = 0;
    for (current = 0; current < turns; current += 1) {
      rounds = 0;
      expect(await api.send(id, textOf(current))).toMatchObject({
        disposition: 'STARTED',
        durability: 'DURABLE',
      });
      let at = ended;
      let over = 0;
      await feed.until((events) => {
        for (; at < events.length; at += 1) {
          const { item } = events[at]!;
          if (item.type === 'EntryAdmitted' && item.entry.kind === 'TURN' && item.entry.turn.outcome) {
            over = item.entry.revision;
            const { type, reason, message } = item.entry.turn.outcome;
            if (type !== 'COMPLETED') failed.push(`turn ${current}, ${reason}: ${message}`);
          }
          if (over > 0 && item.type === 'EntriesDurable' && item.durableThrough >= over) return true;
        }
        return false;
      }, `the end of turn ${current}`);
      ended = at;
    }
    feed.stop();
    const seconds = Math.round((performance.now() - begun) / 1_000);
    entries = await api.history(id);
    console.info(JSON.stringify({ seed, turns, seconds, ...figures() }));
    expect(failed).toEqual([]);
  });

  it('at most one request in 200 is too long as the endpoint counts it, and none is sent again as it is (D-39)', () => {
    const refused = seen.flatMap(({ refused: why }, i) => (why === null ? [] : [i]));
    expect(refused.map((i) => seen[i]!.refused).filter((why) => why !== 'too long')).toEqual([]);
    expect(refused.length).toBeLessThanOrEqual(seen.length / 200);
    expect(refused.filter((i) => seen[i + 1]?.refused != null)).toEqual([]);
  });

  it('what the person asked for is in every request, word for word (G2)', () => {
    expect(lost).toEqual([]);
  });

  it('is summarised once between two answers at most, and once more where the endpoint says so, and for each quarter window of what it was told at most once', () => {
    const { compactions, summaries, told } = figures();
    let begun: string[] = [];
    let known: string | undefined;
    for (const entry of entries) {
      if (entry.kind === 'ASSISTANT' || (entry.kind === 'TURN' && entry.turn.outcome)) begun = [];
      const compaction = entry.kind === 'TURN' ? entry.turn.compaction : undefined;
      if (!compaction || compaction.id === known) continue;
      known = compaction.id;
      begun.push(compaction.trigger);
      expect(begun.length === 1 || (begun.length === 2 && begun[0] !== 'OVERFLOW')).toBe(true);
    }
    expect(compactions).toBeGreaterThan(turns / 20);
    expect(compactions).toBeLessThanOrEqual(told / (window / 4));
    // One call where all of it fits; else its parts, and one to put them together.
    expect(summaries).toBeLessThanOrEqual(2 * compactions);
  });

  it('no summary makes it longer, and none grows from one to the next (G3, G4)', () => {
    const checkpoints = ofKind(entries, 'CHECKPOINT');
    expect(checkpoints.filter(({ before, after }) => after >= before)).toEqual([]);
    expect(Math.max(...checkpoints.map(({ tokens = 0 }) => tokens))).toBeLessThanOrEqual(window / 2);
  });

  it('what was spent is what the endpoint counted, summaries included (D-33)', async () => {
    const { data } = await api.query<{ readonly workstream: { readonly usage: object } }>(
      'query ($id: ID!) { workstream(id: $id) { usage { calls estimatedCalls inputTokens outputTokens } } }',
      { id },
    );
    const counted = seen.flatMap(({ usage }) => usage ?? []);
    expect(data?.workstream.usage).toEqual({
      calls: counted.length,
      estimatedCalls: 0,
      inputTokens: counted.reduce((sum, usage) => sum + usage.prompt_tokens, 0),
      outputTokens: counted.reduce((sum, usage) => sum + usage.completion_tokens, 0),
    });
  });

  it('the journal keeps its laws', () => {
    expect(brokenLaws(entries, { settled: true })).toEqual([]);
  });
});

function figures() {
  const checkpoints = ofKind(entries, 'CHECKPOINT');
  const count = (values: readonly string[]) =>
    Object.fromEntries([...new Set(values)].map((v) => [v, values.filter((o) => o === v).length]));
  return {
    entries: entries.length,
    calls: seen.length,
    summaries: seen.filter((one) => one.summary).length,
    checkpoints: checkpoints.length,
    triggers: count(checkpoints.map((c) => c.trigger)),
    compactions: new Set(ofKind(entries, 'TURN').map((e) => e.turn.compaction?.id)).size - 1,
    refused: seen.filter((one) => one.refused !== null).length,
    largest: Math.max(...seen.map((one) => one.tokens)),
    lost: lost.length,
    told: entries.reduce((sum, e) => sum + (e.tokens ?? 0), 0),
    finishes: count(ofKind(entries, 'ASSISTANT').map((e) => e.finish)),
    cpuSeconds: cpuSecondsOf(pid),
  };
}

/** Of a process, user and system; null where that cannot be known. */
function cpuSecondsOf(process: number): number | null {
  try {
    const fields = readFileSync(`/proc/${process}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return null;
  }
}
