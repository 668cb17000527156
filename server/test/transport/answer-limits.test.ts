/** What one operation may be answered, on each way an answer takes: a query, a mutation, an item of a subscription. */
import type { GraphQLFormattedError } from 'graphql';
import { answerLimits } from 'schema';
import type { Entry } from 'schema/projection';
import { describe, expect, it } from 'vitest';
import { sampleEntries } from '../../../schema/test/sample-entries.ts';
import { admitted, message, messages, serve, workstreamId, type Frame } from './harness.ts';

/** The longest text a message can have, in the characters that JSON writes longest. */
const longest = '\u0001'.repeat(1_000_000);
const many = (count: number, field: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => field(i)).join(' ');
const w1 = workstreamId('w1');
const tooLarge = [{ extensions: { code: 'ANSWER_TOO_LARGE' } }];

/** A workstream whose queue is one text, and whose last entry says so. */
async function serveQueue(text: string) {
  const server = await serve();
  const entries = sampleEntries.map((entry): Entry =>
    entry.kind === 'QUEUE'
      ? { ...entry, queue: { held: true, items: [{ ...entry.queue.items[0]!, text }] } }
      : entry,
  );
  server.fake.workstreams.set('w1', { id: 'w1', entries, durableThrough: entries.length });
  return { ...server, entries };
}

/** How many pages of history are read while this is asked. */
function countPages({ fake }: Awaited<ReturnType<typeof serveQueue>>) {
  const { page } = fake.services.history;
  const counted = { pages: 0, atOnce: 0, most: 0 };
  Object.assign(fake.services.history, {
    page: async (...asked: Parameters<typeof page>) => {
      counted.pages += 1;
      counted.atOnce += 1;
      counted.most = Math.max(counted.most, counted.atOnce);
      await new Promise((resolve) => setImmediate(resolve));
      counted.atOnce -= 1;
      return page(...asked);
    },
  });
  return counted;
}

const texts = 'items { text }';
const aliased = `{ workstream(id: "${w1}") { queue { ${many(400, (i) => `q${i}: ${texts}`)} } } }`;
const feed = (selection: string) => `subscription { workstreamFeed(id: "${w1}") { ${selection} } }`;
const subscribe = (id: string, query: string) =>
  JSON.stringify({ id, type: 'subscribe', payload: { query } });
const errorsOf = ({ payload }: Frame) =>
  (payload as { errors?: readonly GraphQLFormattedError[] }).errors ?? [];

describe('An answer that tells the same again and again', () => {
  it.each([
    [
      'one field of one parent',
      `workstream(id: "${w1}") { queue { ${many(400, (i) => `q${i}: ${texts}`)} } }`,
    ],
    ['workstreams', many(60, (i) => `w${i}: workstream(id: "${w1}") { queue { ${texts} } }`)],
    [
      'pages of history',
      `workstream(id: "${w1}") { ${many(100, (i) => `h${i}: history(last: 9) { edges { node { ... on QueueEntry { queue { ${texts} } } } } }`)} }`,
    ],
    [
      'what is found',
      many(100, (i) => `s${i}: search(text: "x") { edges { node { entry { ... on UserEntry { text } } } } }`),
    ],
    [
      'names of the client',
      `workstream(id: "${w1}") { ${many(10, (i) => `h${i}: history(last: 200) { edges { node { ...F } } }`)} } } fragment F on Entry { ${many(40, (i) => `${'n'.repeat(700)}${i}: kind`)}`,
    ],
    [
      'what the schema says of itself',
      `__schema { types { fields { ${many(1_200, (i) => `d${i}: description`)} } } }`,
    ],
  ])('is refused on both transports, whatever it is: %s', async (what, selection) => {
    const server = await serveQueue(longest);
    const said = server.entries.find((entry) => entry.kind === 'USER')!;
    if (what === 'what is found' || what.startsWith('names'))
      server.fake.workstreams.get('w1')!.entries = Array.from({ length: 200 }, (_, i) => ({
        ...said,
        revision: i + 1,
        text: what.startsWith('names') ? 'x' : 'x'.repeat(20_000),
      }));
    const http = await server.post(`{ ${selection} }`);
    expect(http.errors).toMatchObject(tooLarge);
    expect(http.text.length).toBeLessThan(100_000);
    const socket = await admitted(server.openSocket());
    socket.send(subscribe('1', `{ ${selection} }`));
    expect(errorsOf(await message(socket))).toMatchObject(tooLarge);
    expect(server.log).toEqual([]);
    socket.close();
  });

  it('says what to ask less of', async () => {
    const { post } = await serveQueue(longest);
    const [error] = (await post(aliased)).errors;
    expect(error!.message).toMatch(/^The answer would have \d+ MiB; at most 24 are allowed\. Select nothing/);
  });

  it('is refused of a mutation, too, which was done', async () => {
    const { post, fake } = await serveQueue(longest);
    Object.assign(fake.services.workstreams, {
      create: () => Promise.resolve({ type: 'Accepted', durability: 'DURABLE', workstreamId: 'w1' } as const),
    });
    const refused = await post(
      `mutation { createWorkstream(input: { key: "12345678" }) { ... on CreateWorkstreamPayload { workstream { queue { ${many(400, (i) => `q${i}: ${texts}`)} } } } } }`,
    );
    expect(refused.errors).toMatchObject(tooLarge);
    expect(refused.errors[0]!.message).toContain('has been done');
  });

  it('is refused of one item of a subscription sooner than of a query, and the next one comes', async () => {
    const { openSocket, post, fake, entries } = await serveQueue('x'.repeat(1_000_000));
    const told = `queue { ${many(6, (i) => `q${i}: ${texts}`)} }`;
    expect((await post(`{ workstream(id: "${w1}") { ${told} } }`)).errors).toEqual([]);
    const socket = await admitted(openSocket());
    socket.send(
      subscribe('1', feed(`__typename ... on EntryAdmitted { entry { ... on QueueEntry { ${told} } } }`)),
    );
    await fake.feed.hasOpen(1);
    const answers = messages(socket, 2);
    const entry = entries.find(({ kind }) => kind === 'QUEUE')!;
    fake.feed.push({ item: { type: 'EntryAdmitted', entry, durable: true }, cursor: 'i1.3.13' });
    fake.feed.push({ item: { type: 'EntriesDurable', durableThrough: 13 }, cursor: 'i1.3.13' });
    const [refused, next] = await answers;
    expect(errorsOf(refused!)).toMatchObject(tooLarge);
    expect(next).toMatchObject({ payload: { data: { workstreamFeed: { __typename: 'EntriesDurable' } } } });
    socket.close();
  });
});

describe('What one operation reads', () => {
  it('is read one after another, and no more once it is 16 MiB', async () => {
    const server = await serveQueue('x'.repeat(1_000_000));
    const counted = countPages(server);
    const answer = await server.post(
      `{ workstream(id: "${w1}") { ${many(100, (i) => `h${i}: history(last: 9) { revision }`)} } }`,
    );
    expect(answer.errors[0]).toMatchObject({ extensions: { code: 'ANSWER_TOO_LARGE' } });
    expect(counted.most).toBe(1);
    expect(counted.pages).toBeLessThanOrEqual(answerLimits.read / 1_000_000 + 1);
  });

  it('may fail without the others failing for it', async () => {
    const { post, fake } = await serveQueue('x');
    const { get } = fake.services.workstreams;
    let asked = 0;
    Object.assign(fake.services.workstreams, {
      get: (id: string) => ((asked += 1) === 1 ? Promise.reject(new Error('broken')) : get(id)),
    });
    const answer = await post(
      `{ a: workstream(id: "${w1}") { revision } b: workstream(id: "${w1}") { revision } }`,
    );
    expect(answer.body).toMatchObject({ data: { a: null, b: { revision: sampleEntries.length } } });
  });
});

describe('The largest that may be asked for at once', () => {
  it('is answered: a full queue, as often as a snapshot tells it, and the longest message in history', async () => {
    const { post, entries } = await serveQueue(longest);
    const answer = await post(
      `{ workstream(id: "${w1}") { durable { queue { ${texts} } } queue { ${texts} } history(first: 200) { edges { node { revision ... on QueueEntry { queue { ${texts} } } } } } } }`,
    );
    expect(answer.errors).toEqual([]);
    expect(answer.text.length).toBeGreaterThan(17_000_000);
    expect(answer.text.length).toBeLessThan(answerLimits.bytes);
    expect(answer.body).toMatchObject({
      data: { workstream: { history: { edges: { length: entries.length } } } },
    });
  });

  it('may be larger when nothing of it is told a third time: results of a large batch', async () => {
    const { post, fake, entries } = await serveQueue('x');
    const settled = entries.find((entry) => entry.kind === 'TOOL_SETTLED')!;
    fake.workstreams.get('w1')!.entries = Array.from({ length: 128 }, (_, i) => ({
      ...settled,
      revision: i + 1,
      result: { ...settled.result, content: String(i).padStart(262_144, 'x') },
    }));
    const page = `history(last: 200) { edges { node { ... on ToolSettledEntry { result { content } } } } }`;
    const answer = await post(`{ workstream(id: "${w1}") { ${page} } }`);
    expect(answer.errors).toEqual([]);
    expect(answer.text.length).toBeGreaterThan(answerLimits.bytes);
    expect(
      (await post(`{ workstream(id: "${w1}") { ${many(2, (i) => `p${i}: ${page}`)} } }`)).errors,
    ).toHaveLength(1);
  });

  it('is never more than 64 MiB, though nothing of it is told twice', async () => {
    const { post, fake, entries } = await serveQueue('x');
    const settled = entries.find((entry) => entry.kind === 'TOOL_SETTLED')!;
    fake.workstreams.get('w1')!.entries = Array.from({ length: 140 }, (_, i) => ({
      ...settled,
      revision: i + 1,
      result: { ...settled.result, content: String(i).padStart(500_000, 'x') },
    }));
    const page = (first: number) =>
      `{ workstream(id: "${w1}") { history(first: ${first}) { edges { node { ... on ToolSettledEntry { result { content } } } } } } }`;
    const refused = await post(page(140));
    expect(refused.errors).toMatchObject(tooLarge);
    expect(refused.errors[0]!.message).toContain('at most 64 are allowed');
    expect((await post(page(130))).errors).toEqual([]);
  });
});
