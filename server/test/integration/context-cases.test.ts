/**
 * Owns: faults of other systems about context and summaries, each by its number: the right outcome, over a real server,
 * a real database and real HTTP. Group G is about context, B about stopping while a summary is made.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey } from '../../../e2e/support/api.ts';
import { ofKind } from '../../../e2e/support/journal-laws.ts';
import { audit } from '../support/audits.ts';
import type { ChatBody, Step } from '../support/scripted-provider.ts';
import { asksForSummary, tokensOfBody, tooLongFor, wrongOrder } from '../support/context-endpoint.ts';
import {
  createContextWorld,
  either,
  plainly,
  textsOf,
  tooLong,
  type ContextWorld,
  type Talk,
} from './context-world.ts';

const window = 8_000;
const summary = 'They talked of this and that; the id is w-17.';
const prose = (tokens: number): string => 'The journal says what it says and no more. '.repeat(tokens / 9);

const cases =
  'G2 G2-turn G3 G4 G6 G6-asked G8-none G8-zero G9-over G9-leap G11 G12-400 G12-413 G12-500 G12-stream G13 B1 B15-early B15-after B22 B22-stop';
let world: ContextWorld;
beforeAll(async () => {
  world = await createContextWorld({
    ...Object.fromEntries(cases.split(' ').map((name) => [name, { window }])),
    G7: { window: 70_000 },
    G10: { window: 32_768 },
    'G10-part': { window: 32_768 },
    'G10-short': { window: 64_000 },
    wide: { window: 1_000_000 },
    'wide-part': { window: 1_000_000 },
    B16: { window, concurrency: 1 },
    prompt: { window },
    thinker: { window: 20_000, capabilities: { reasoning: true, replayReasoning: true } },
    roomy: { window: 128_000, fallbacks: ['small'] },
    small: { window },
    alone: { window },
    before: { window },
    overstated: { window: 128_000 },
    after: { window: 200_000 },
    moving: { window: 128_000 },
    leaving: { window: 128_000, fallbacks: ['staying'] },
    paced: { window: 128_000 },
    'paced-spare': { window: 128_000, fallbacks: ['spare'] },
    spare: { window: 128_000 },
    staying: {},
  });
});
afterAll(() => world?.end());

/** The same workstream, in the same summary as in `compact`, to its end. */
async function summarised(talk: Talk): Promise<void> {
  const { turnId } = await talk.compact();
  expect(await talk.ended(turnId!)).toMatchObject({ type: 'COMPLETED', reason: 'COMPACTED' });
}

const configure = async (workstreamId: string, change: object): Promise<void> => {
  const { data, errors } = await world.api.query<{ readonly result: object }>(
    `mutation ($input: ConfigureWorkstreamInput!) { result: configureWorkstream(input: $input) { __typename } }`,
    { input: { key: newKey(), workstreamId, ...change } },
  );
  expect(errors).toEqual([]);
  expect(data?.result).toEqual({ __typename: 'ConfigureWorkstreamPayload' });
};
const setModel = (workstreamId: string, alias: string): Promise<void> =>
  configure(workstreamId, { model: { alias } });

/** Answers what is no longer than the window, and refuses the rest, as endpoints do. */
const within =
  (most: number, answer: (body: ChatBody) => Step | Promise<Step>) =>
  (body: ChatBody): Step | Promise<Step> => {
    const tokens = tokensOfBody(body);
    return tokens <= most
      ? answer(body)
      : { status: 400, body: { error: { message: tooLongFor(most, tokens) } } };
  };
const sizes = (talk: Talk): readonly number[] => talk.requests.map(tokensOfBody);

const reads = (...paths: readonly string[]): Step => ({
  stream: paths.map((path) => ({ call: { name: 'read_file', arguments: { path } } })),
});

const toolMessages = (body: ChatBody): readonly string[] =>
  body.messages.filter((m) => m.role === 'tool').map((m) => String(m.content));

describe.concurrent('a summary', () => {
  it('G2 is an account and no task, and what the person says next stands after it word for word', async () => {
    const talk = await world.talk('G2');
    await talk.fill(3);
    talk.answer(either(plainly('Goal: sing. Left to do: all of it.'), plainly('Yes.')));
    await summarised(talk);
    expect(await talk.say('Only say yes.')).toMatchObject({ type: 'COMPLETED' });
    const [, account, said, ...more] = textsOf(talk.requests.at(-1)!);
    expect(more).toEqual([]);
    expect(account).toMatch(/^\[What happened before.*asks for nothing\.\]\n~~~\nGoal: sing/s);
    expect(said).toMatch(/Only say yes\.$/);
  });

  it('G2 in the middle of a turn keeps the newest request out of the summary, and word for word', async () => {
    const talk = await world.talk('G2-turn');
    await talk.fill(4);
    let refused = false;
    const turn = (body: ChatBody): Step =>
      refused ? plainly('Yes.')(body) : ((refused = true), tooLong['HTTP 400']);
    talk.answer(either(plainly(summary), turn));
    // Longer than what is kept in any case.
    const newest = `Say yes, and nothing else. ${prose(900)}`;
    expect(await talk.say(newest)).toMatchObject({ type: 'COMPLETED' });
    const [asked, again] = talk.requests.slice(-2);
    expect(textsOf(asked!).join()).not.toContain('Say yes, and nothing else.');
    expect(again!.messages.at(-1)!.role).toBe('user');
    expect(textsOf(again!).at(-1)).toContain(newest);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toMatchObject([{ request: null }]);
    expect(textsOf(again!).join()).toContain(summary);
  });

  it('G3 twice in a row is refused where nothing came since, and no request grows by one', async () => {
    const talk = await world.talk('G3');
    await talk.fill(3);
    const before = tokensOfBody(talk.requests.at(-1)!);
    talk.answer(either(plainly(summary), plainly('Yes.')));
    await summarised(talk);
    const asked = talk.requests.length;
    expect(await talk.compact()).toMatchObject({ code: 'NOTHING_TO_COMPACT' });
    expect(talk.requests).toHaveLength(asked);
    await talk.say('Go on.');
    expect(tokensOfBody(talk.requests.at(-1)!)).toBeLessThan(before);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toHaveLength(1);
  });

  it('G4 by a model that says again what it is shown is as long the fifth time as the first', async () => {
    const talk = await world.talk('G4');
    for (let n = 0; n < 5; n += 1) {
      await talk.fill(3);
      talk.answer((body) => plainly(String(body.messages.at(-1)!.content).slice(0, 20_000))(body));
      await summarised(talk);
    }
    const sizes = ofKind(await talk.history(), 'CHECKPOINT').map(({ tokens = 0 }) => tokens);
    expect(sizes).toHaveLength(5);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(window / 4 + 50);
  });

  it('G6 between an answer and its results keeps the answer, and each call is followed by its result', async () => {
    const talk = await world.talk('G6');
    talk.writeFile('long.txt', prose(40_000));
    await talk.fill(4, 870);
    let calls = 0;
    // Longer than what is kept in any case.
    const asks = { stream: [prose(1_500), ...reads('long.txt').stream!] };
    const turn = (body: ChatBody): Step => ((calls += 1) === 1 ? asks : plainly('Read.')(body));
    talk.answer(either(plainly(summary), turn));
    expect(await talk.say('Read it.')).toMatchObject({ type: 'COMPLETED' });
    const entries = await talk.history();
    const [checkpoint] = ofKind(entries, 'CHECKPOINT');
    const declared = ofKind(entries, 'ASSISTANT').find((e) => e.calls.length > 0)!;
    expect(checkpoint).toMatchObject({ trigger: 'TOOLS' });
    expect(checkpoint!.watermark).toBeLessThan(declared.revision);
    const next = talk.requests.find((body) => toolMessages(body).length > 0)!;
    expect(wrongOrder(next)).toBeNull();
    expect(next.messages.find((m) => m.tool_calls)?.tool_calls).toHaveLength(1);
    expect(textsOf(next).join()).toContain('Read it.');
  });

  it('G6 is not made while a person is asked about a call, which then runs', async () => {
    const talk = await world.talk('G6-asked');
    await talk.fill(3);
    const call = { name: 'shell', arguments: { command: 'echo ran' } };
    let calls = 0;
    talk.answer((body) => ((calls += 1) === 1 ? { stream: [{ call }] } : plainly('It ran.')(body)));
    const { turnId } = await world.api.send(talk.id, 'Run it.');
    const [question] = await world.api.questions(talk.id);
    expect(await talk.compact()).toMatchObject({ code: 'BUSY' });
    await world.api.decide(talk.id, question!, 'APPROVED');
    expect(await talk.ended(turnId!)).toMatchObject({ type: 'COMPLETED' });
    expect(toolMessages(talk.requests.at(-1)!).join()).toContain('ran');
  });

  it.each(['HTTP 400', 'HTTP 413', 'HTTP 500', 'a stream'] as const)(
    'G12 is made once for an overflow in %s, and nothing is asked blindly again',
    async (wording) => {
      const talk = await world.talk(`G12-${wording === 'a stream' ? 'stream' : wording.slice(5)}`);
      await talk.fill(3);
      const asked = talk.requests.length;
      let turns = 0;
      const turn = (body: ChatBody): Step =>
        (turns += 1) === 1 ? tooLong[wording] : plainly('It fits.')(body);
      talk.answer(either(plainly(summary), turn));
      expect(await talk.say('Does it fit?')).toMatchObject({ type: 'COMPLETED' });
      expect(talk.requests.slice(asked).map(asksForSummary)).toEqual([false, true, false]);
      expect(ofKind(await talk.history(), 'CHECKPOINT')).toMatchObject([{ trigger: 'OVERFLOW' }]);
    },
  );

  it('G10 by an endpoint that writes less at once, and names that otherwise, is asked for as much as it writes', async () => {
    const talk = await world.talk('G10-short');
    await talk.fill(3);
    const asked = talk.requests.length;
    const message = 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]';
    talk.answer((body) =>
      Number(body['max_completion_tokens']) > 8_192
        ? { status: 400, body: { error: { message, type: 'invalid_request_error' } } }
        : plainly(summary)(body),
    );
    await summarised(talk);
    expect(talk.requests.slice(asked).map((body) => body['max_completion_tokens'])).toEqual([16_000, 8_192]);
  });

  it.each([
    'is made in parts, each of which fits, the newest with it',
    'of which a part fails changes nothing',
  ])('G10 of a history of three windows %s', { timeout: 60_000 }, async (what) => {
    const fails = what.startsWith('of which');
    const narrow = fails ? 'G10-part' : 'G10';
    const talk = await world.talk(fails ? 'wide-part' : 'wide');
    await talk.fill(25, 4_000);
    await talk.say('The newest is X-4711.');
    const before = await talk.history();
    await setModel(talk.id, narrow);
    const requests: ChatBody[] = [];
    const other = await world.talk(narrow);
    let parts = 0;
    other.answer((body) => {
      requests.push(body);
      if (!asksForSummary(body)) return plainly('I know.')(body);
      return fails && (parts += 1) === 2
        ? { status: 401, body: { error: { message: 'no' } } }
        : plainly(summary)(body);
    });
    const outcome = await talk.say('What is the newest?');
    if (fails) {
      expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_CONTEXT_OVERFLOW' });
      const after = await talk.history();
      expect(after.slice(0, before.length)).toEqual(before);
      expect(ofKind(after, 'CHECKPOINT')).toEqual([]);
      return;
    }
    expect(outcome).toMatchObject({ type: 'COMPLETED' });
    const summaries = requests.filter(asksForSummary);
    expect(summaries.length).toBeGreaterThan(2);
    for (const body of requests)
      expect(tokensOfBody(body) + Number(body['max_completion_tokens'] ?? 0)).toBeLessThan(32_768);
    const told = [...summaries, requests.at(-1)!].flatMap(textsOf).join();
    expect(told).toContain('X-4711');
    expect(requests.at(-1)!.messages.at(-1)!.content).toContain('What is the newest?');
  });
});

describe.concurrent('what an endpoint counts', () => {
  const counting =
    (usage: Step['usage'], more: Step['stream'] = []) =>
    (): Step => ({ stream: ['So it is.', ...more], ...(usage !== undefined && { usage }) });

  it('G7 has what came from its cache in it already, and is not counted twice', async () => {
    const talk = await world.talk('G7');
    const usage = {
      prompt_tokens: 38_196,
      completion_tokens: 900,
      total_tokens: 39_096,
      prompt_tokens_details: { cached_tokens: 38_153 },
    };
    const timings = { cache_n: 38_153, prompt_n: 43 };
    talk.answer(counting(null, [{ chunk: { choices: [], usage, timings } }]));
    expect(await talk.say(prose(36_000))).toMatchObject({ type: 'COMPLETED' });
    const { used, warning } = await talk.context();
    expect(used).toBeGreaterThan(38_000);
    expect(used).toBeLessThan(39_200);
    expect(warning).toBe(false);
    expect(ofKind(await talk.history(), 'TURN').filter((e) => e.turn.compaction)).toEqual([]);
    expect(await talk.usage()).toMatchObject({
      calls: 1,
      estimatedCalls: 0,
      inputTokens: 38_196,
      outputTokens: 900,
    });
  });

  it.each([
    ['none', null],
    ['zero', { prompt_tokens: 0, completion_tokens: 0 }],
  ] as const)('G8 is nothing (%s): the estimate counts, and room is made in time', async (name, usage) => {
    const talk = await world.talk(`G8-${name}`);
    talk.answer(either(plainly(summary), counting(usage)));
    for (let n = 0; n < 8; n += 1)
      expect(await talk.say(`${n}: ${prose(900)}`)).toMatchObject({ type: 'COMPLETED' });
    expect(ofKind(await talk.history(), 'CHECKPOINT').length).toBeGreaterThan(0);
    for (const body of talk.requests) expect(tokensOfBody(body)).toBeLessThan(window);
    expect((await talk.usage()).estimatedCalls).toBeGreaterThan(0);
    expect(await talk.context()).toMatchObject({ estimated: true });
  });

  it('G9 that is more than the window is not believed, also the first time', async () => {
    const talk = await world.talk('G9-over');
    talk.answer(counting({ prompt_tokens: 8_500, completion_tokens: 5 }));
    await talk.say(`Is this much? ${prose(300)}`);
    const { used, warning } = await talk.context();
    expect(used).toBeLessThan(window / 2);
    expect(warning).toBe(false);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toEqual([]);
  });

  it('G9 that is four times what it was, though little came, is not believed', async () => {
    const talk = await world.talk('G9-leap');
    await talk.fill(2, 300);
    const before = (await talk.context()).used;
    talk.answer(counting({ prompt_tokens: 7_900, completion_tokens: 5 }));
    await talk.say('And this?');
    const { used, warning } = await talk.context();
    expect(used).toBeLessThan(before + 200);
    expect(warning).toBe(false);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toEqual([]);
  });

  it('G11 that is too much in a minute is no overflow: it is asked again later', async () => {
    const talk = await world.talk('G11');
    await talk.fill(2);
    const asked = talk.requests.length;
    const message =
      'Rate limit reached: maximum number of tokens allowed per minute (TPM): Limit 30000, Requested 31200';
    let turns = 0;
    talk.answer((body) =>
      (turns += 1) === 1
        ? { status: 429, body: { error: { message, type: 'tokens', code: 'rate_limit_exceeded' } } }
        : plainly('Now.')(body),
    );
    expect(await talk.say('Now?')).toMatchObject({ type: 'COMPLETED' });
    expect(talk.requests.slice(asked).map(asksForSummary)).toEqual([false, false]);
    expect(ofKind(await talk.history(), 'TURN').filter((e) => e.turn.compaction)).toEqual([]);
  });

  describe('what alone is more than is let through in a minute', () => {
    /** As an endpoint of so many tokens a minute says it. */
    const paced =
      (status: number, most: number, answer: (body: ChatBody) => Step | Promise<Step>) =>
      (body: ChatBody): Step | Promise<Step> => {
        const tokens = tokensOfBody(body);
        if (tokens <= most) return answer(body);
        const message = `Request too large for model \`m\` on tokens per minute (TPM): Limit ${most}, Requested ${tokens}, please reduce your message size and try again.`;
        return { status, body: { error: { message, type: 'tokens', code: 'rate_limit_exceeded' } } };
      };

    it('is asked once, nothing is learnt or summarised of it, and it passes where the window is set to that (D-37; broke: asked four times)', async () => {
      const talk = await world.talk('paced');
      await talk.fill(8, 870);
      const asked = talk.requests.length;
      const before = await talk.context();
      talk.answer(paced(413, window, plainly('Now.')));
      const outcome = await talk.say('Now?');
      expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_OVER_LIMIT' });
      expect(outcome).toHaveProperty(
        'message',
        expect.stringMatching(/Limit 8000, Requested \d+.*set its "window" in weir\.config\.json to no more/),
      );
      expect(talk.requests.slice(asked).map(asksForSummary)).toEqual([false]);
      const after = await talk.context();
      expect(after.window).toBe(128_000);
      expect(after.used).toBeLessThan(before.used + 200);
      expect(ofKind(await talk.history(), 'TURN').filter((e) => e.turn.compaction)).toEqual([]);

      const came: string[] = [];
      world.answer('paced-narrow', (body) => {
        const passes = tokensOfBody(body) <= window;
        came.push(passes ? (asksForSummary(body) ? 'summary' : 'turn') : 'refused');
        return paced(413, window, either(plainly(summary), plainly('Now.')))(body);
      });
      await world.setUp('paced', { model: 'paced-narrow', window });
      expect(await talk.say('And now?')).toMatchObject({ type: 'COMPLETED' });
      expect(came.at(-1)).toBe('turn');
      expect(new Set(came.slice(0, -1))).toEqual(new Set(['summary']));
    });

    it('is left for a fallback at once, and says nothing of how the model fares', async () => {
      const talk = await world.talk('paced-spare');
      await talk.fill(8, 870);
      const asked = talk.requests.length;
      talk.answer(paced(429, window, plainly('Now.')));
      world.answer('spare', plainly('From the spare one.'));
      expect(await talk.say('Now?')).toMatchObject({ type: 'COMPLETED' });
      expect(talk.requests).toHaveLength(asked + 1);
      expect(ofKind(await talk.history(), 'ASSISTANT').at(-1)).toMatchObject({ alias: 'spare' });
      const { data } = await world.api.query<{ readonly models: readonly { readonly alias: string }[] }>(
        '{ models { alias health problem } }',
      );
      expect(data!.models.find(({ alias }) => alias === 'paced-spare')).toMatchObject({
        health: 'HEALTHY',
        problem: null,
      });
    });
  });

  it('G13 at three quarters lets small results pass whole and says what is left out of big ones', async () => {
    const talk = await world.talk('G13');
    talk.writeFile('watch.json', '{"watch_id":"w1"}');
    talk.writeFile('big.txt', prose(45_000));
    await talk.fill(5, 870);
    const { used, warning } = await talk.context();
    expect(used / window).toBeGreaterThan(0.7);
    expect(warning).toBe(false);
    let turns = 0;
    const turn = (body: ChatBody): Step =>
      (turns += 1) === 1 ? reads('watch.json', 'big.txt') : plainly('Watching.')(body);
    talk.answer(either(plainly(summary), turn));
    expect(await talk.say('Watch it.')).toMatchObject({ type: 'COMPLETED' });
    const [small, big] = toolMessages(talk.requests.findLast((request) => !asksForSummary(request))!);
    expect(small).toBe('{"watch_id":"w1"}');
    expect(big).toMatch(/characters (are left out here|is not shown)|is not shown: there is no room/);
    expect(ofKind(await talk.history(), 'CHECKPOINT')[0]).toMatchObject({ trigger: 'TOOLS' });
  });
});

describe.concurrent('a stop', () => {
  it('B1 during a call leaves a conversation that goes on, and can be summarised', async () => {
    const talk = await world.talk('B1');
    await talk.fill(3);
    talk.answer(() => ({
      stream: [{ call: { name: 'shell', arguments: { command: 'echo on; sleep 60' } } }],
    }));
    const { turnId } = await world.api.send(talk.id, 'Sleep.');
    const [question] = await world.api.questions(talk.id);
    await world.api.decide(talk.id, question!, 'APPROVED');
    await world.api.waitFor(
      talk.id,
      ({ overlay }) => overlay.tools[question!.callId]?.text === 'on\n',
      'the command',
    );
    await world.api.stop(talk.id);
    expect(await talk.ended(turnId!)).toMatchObject({ type: 'CANCELED' });
    talk.answer(either(plainly(summary), plainly('Hi.')));
    expect(await talk.say('hi')).toMatchObject({ type: 'COMPLETED' });
    await summarised(talk);
    expect(await talk.say('hi again')).toMatchObject({ type: 'COMPLETED' });
  });

  it('B15 before a summary has begun to answer lets go of the request', async () => {
    const talk = await world.talk('B15-early');
    await talk.fill(3);
    const n = talk.requests.length + 1;
    talk.answer(() => new Promise<Step>(() => undefined));
    const { turnId } = await talk.compact();
    await talk.request(n);
    await world.api.stop(talk.id);
    expect(await talk.ended(turnId!)).toMatchObject({ type: 'CANCELED' });
    await world.bench.provider.waitForAbort(talk.numberOf(n));
  });

  it('B15 of a summary is over when it says so: what is said at once is taken', async () => {
    const talk = await world.talk('B15-after');
    await talk.fill(3);
    talk.answer(either(() => ({ stream: ['It ', { gate: 'B15' }] }), plainly('Here.')));
    const { turnId } = await talk.compact();
    await world.bench.provider.waitForGate('B15');
    const { cursor } = await world.api.snapshot(talk.id);
    const feed = world.api.follow(talk.id, cursor);
    const stopping = world.api.stop(talk.id);
    await feed.until(
      (events) =>
        events.some(
          ({ item }) =>
            item.type === 'EntryAdmitted' && item.entry.kind === 'TURN' && item.entry.turn.outcome !== null,
        ),
      'the end of the summary',
    );
    const sent = await world.api.send(talk.id, 'Are you there?');
    expect(sent).toMatchObject({ disposition: 'STARTED' });
    await stopping;
    feed.stop();
    expect(await talk.ended(sent.turnId!)).toMatchObject({ type: 'COMPLETED' });
    expect(sent.turnId).not.toBe(turnId);
  });

  it('B16 while a summary waits for a slot sends nothing any more', async () => {
    const talk = await world.talk('B16');
    await talk.fill(3);
    const asked = talk.requests.length;
    talk.answer(either(plainly(summary), () => ({ stream: ['Busy ', { gate: 'B16' }, 'no more.'] })));
    const busy = await world.api.create({ model: 'B16' });
    await world.api.send(busy, 'Take the slot.');
    await world.bench.provider.waitForGate('B16');
    const { turnId } = await talk.compact();
    await world.api.waitFor(talk.id, ({ base }) => base.turn?.compaction !== undefined, 'the compaction');
    await world.api.stop(talk.id);
    expect(await talk.ended(turnId!)).toMatchObject({ type: 'CANCELED' });
    world.bench.provider.release('B16');
    await world.api.waitForState(busy, 'IDLE');
    expect(talk.requests.slice(asked)).toHaveLength(1);
  });

  it('B22 a summary that breaks off is asked for anew, is never spliced, and both are counted', async () => {
    const talk = await world.talk('B22');
    await talk.fill(3);
    const before = await talk.usage();
    let tries = 0;
    talk.answer((body) =>
      (tries += 1) === 1
        ? { stream: ['The account is', { drop: true }] }
        : plainly('The account is 42.')(body),
    );
    await summarised(talk);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toMatchObject([{ summary: 'The account is 42.' }]);
    const { calls, estimatedCalls } = await talk.usage();
    expect({ calls: calls - before.calls, estimatedCalls }).toEqual({ calls: 2, estimatedCalls: 1 });
  });

  it('B22 works while a summary waits to be asked for anew', async () => {
    const talk = await world.talk('B22-stop');
    await talk.fill(3);
    const asked = talk.requests.length;
    talk.answer(() => ({
      status: 429,
      headers: { 'retry-after': '60' },
      body: { error: { message: 'busy' } },
    }));
    const { cursor } = await world.api.snapshot(talk.id);
    const feed = world.api.follow(talk.id, cursor);
    const { turnId } = await talk.compact();
    await feed.until(
      (events) =>
        events.some(({ item }) => item.type === 'Notice' && /Trying again in 60 s/.test(item.message)),
      'the wait',
    );
    feed.stop();
    await world.api.stop(talk.id);
    expect(await talk.ended(turnId!)).toMatchObject({ type: 'CANCELED' });
    expect(talk.requests.slice(asked)).toHaveLength(1);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toEqual([]);
  });
});

describe.concurrent('what the meter did not see', () => {
  it('is a system prompt that grew since the count: room is made for it before it is sent (broke: it was sent without looking)', async () => {
    const talk = await world.talk('prompt');
    await talk.fill(3);
    await configure(talk.id, { instructions: prose(4_400).slice(0, 19_900) });
    talk.answer(either(plainly(summary), within(window, plainly('Yes.'))));
    expect(await talk.say('And now?')).toMatchObject({ type: 'COMPLETED' });
    expect(Math.max(...sizes(talk))).toBeLessThan(window);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toMatchObject([{ trigger: 'OVERFLOW' }]);
  });

  it('is what the model thought, where it is told that again: no request becomes too long for it (broke: the meter stood still)', async () => {
    const talk = await world.talk('thinker');
    const thought = prose(2_500);
    const thinks = (body: ChatBody): Step => ({
      stream: [{ reasoning: thought }, 'Yes.'],
      usage: { prompt_tokens: tokensOfBody(body), completion_tokens: Math.ceil(thought.length / 4) + 2 },
    });
    talk.answer(either(plainly(summary), within(20_000, thinks)));
    const off: number[] = [];
    for (let n = 0; n < 12; n += 1) {
      const { used } = await talk.context();
      expect(await talk.say(`${n}?`)).toMatchObject({ type: 'COMPLETED' });
      const told = tokensOfBody(talk.requests.findLast((body) => !asksForSummary(body))!);
      // What is known before the first count, and right after a summary, is an estimate.
      if (n > 1) off.push(Math.abs(told - used) / told);
    }
    expect(Math.max(...sizes(talk))).toBeLessThan(18_000);
    expect(ofKind(await talk.history(), 'CHECKPOINT').length).toBeGreaterThan(0);
    expect(off.toSorted((a, b) => a - b)[Math.floor(off.length / 2)]).toBeLessThan(0.05);
  });

  it('is a message that is too long alone: it is said at once, nothing is sent, and no history is lost for it', async () => {
    const talk = await world.talk('alone');
    await talk.fill(2);
    const asked = talk.requests.length;
    const outcome = await talk.say(prose(16_000));
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_CONTEXT_OVERFLOW' });
    expect(outcome.message).toMatch(/^What was said last needs about .* take it back and say less at a time/);
    expect(talk.requests).toHaveLength(asked);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toEqual([]);
  });
});

describe.concurrent('a window', () => {
  it('that is a twentieth of the one that is set up is learnt from the first refusal (broke: the turn failed)', async () => {
    const served = 6_000;
    const talk = await world.talk('overstated');
    talk.answer(either(plainly(summary), within(served, plainly('Yes. '.repeat(200)))));
    for (let n = 0; n < 12; n += 1)
      expect(await talk.say(`${n}: ${prose(900)}`)).toMatchObject({ type: 'COMPLETED' });
    const refused = talk.requests.filter((body) => tokensOfBody(body) > served);
    expect(refused).toHaveLength(1);
    expect(await talk.context()).toMatchObject({ window: served });
  });
});

describe.concurrent('another model', () => {
  it('that is a fallback without room is passed over, and nothing is summarised for it (broke: the chosen model lost its history)', async () => {
    const talk = await world.talk('roomy');
    const small = await world.talk('small');
    await talk.fill(6, 2_000);
    const message = 'Slow down.';
    talk.answer(() => ({ status: 429, headers: { 'retry-after': '90' }, body: { error: { message } } }));
    small.answer(plainly('It is small in here.'));
    const outcome = await talk.say('Once more.');
    expect(outcome).toMatchObject({ type: 'FAILED', reason: 'MODEL_RATE_LIMIT' });
    expect(outcome.message).toMatch(/Slow down.*"small".*reads 8,000/s);
    expect(small.requests).toEqual([]);
    const sent = talk.requests.length;
    talk.answer(plainly('It is well again.'));
    expect(await talk.say('And now?')).toMatchObject({ type: 'COMPLETED' });
    expect(tokensOfBody(talk.requests[sent]!)).toBeGreaterThan(window);
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toEqual([]);
  });

  it('that an alias stands for since it was asked is asked, too, before anything is summarised (broke: it was, for one that was left)', async () => {
    const talk = await world.talk('moving');
    await talk.fill(3);
    talk.answer(async () => {
      await world.setUp('moving', { model: 'moved', window: 200_000 });
      return tooLong['HTTP 413'];
    });
    world.answer('moved', plainly('There is room here.'));
    expect(await talk.say('And now?')).toMatchObject({ type: 'COMPLETED' });
    const answers = ofKind(await talk.history(), 'ASSISTANT');
    expect(answers.at(-1)).toMatchObject({ text: 'There is room here.', model: 'moved' });
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toEqual([]);
  });

  it('that stands in for one that is gone, and refuses without saying what it reads, has the history summarised (broke: the turn failed)', async () => {
    const talk = await world.talk('leaving');
    await talk.fill(4);
    await world.setUp('leaving', null);
    world.answer(
      'staying',
      either(plainly(summary), (body) =>
        tokensOfBody(body) < 5_000 ? plainly('Yes.')(body) : tooLong['HTTP 413'],
      ),
    );
    expect(await talk.say('And now?')).toMatchObject({ type: 'COMPLETED' });
    expect(ofKind(await talk.history(), 'CHECKPOINT')).toHaveLength(1);
  });

  it('that was chosen after a summary shows its own window in a fork (broke: that of the one before)', async () => {
    const talk = await world.talk('before');
    await talk.fill(3);
    talk.answer(either(plainly(summary), plainly('Yes.')));
    await summarised(talk);
    await setModel(talk.id, 'after');
    const { data } = await world.api.query<{ readonly result: { readonly workstreamId: string } }>(
      'mutation ($input: ForkWorkstreamInput!) { result: forkWorkstream(input: $input) { ... on ForkWorkstreamPayload { workstreamId } } }',
      { input: { key: newKey(), workstreamId: talk.id } },
    );
    const fork = await world.api.query<{ readonly workstream: { readonly context: object } }>(
      'query ($id: ID!) { workstream(id: $id) { context { window warning } } }',
      { id: data!.result.workstreamId },
    );
    expect(fork.data?.workstream.context).toEqual({ window: 200_000, warning: false });
  });
});

it('the database keeps its laws in all of that', async () => {
  expect(await audit((sql) => world.bench.database.sql(sql))).toEqual([]);
});
