import { expect, it } from 'vitest';
import { createWeirClient, rowsOf, type Windowed } from '../../src/client-kit/index.ts';
import { WINDOW_PAGE } from '../../src/client-kit/window.ts';
import { encodeRevision } from '../../src/types/history.ts';
import { workstreamGlobalId } from '../../src/types/global-id.ts';
import { applyEntries, emptyProjection } from '../../src/projection/index.ts';
import { journalOf, markOf, open, rewound, said, summarised } from '../projection/journals.ts';
import { bodies } from './support/bodies.ts';
import { createInProcess, hastyPace, servicesOf, until } from './support/in-process.ts';
import { createWorld } from './support/world.ts';

const id = workstreamGlobalId('w1');

function begin(place: number, total = 400, durable = total) {
  const plain = bodies.filter((body) => body.kind !== 'REWIND');
  let next = 0;
  const world = createWorld(() => plain[next++ % plain.length]!);
  for (let i = 0; i < total; i += 1) world.admit();
  world.acknowledge(durable);
  const transport = createInProcess(servicesOf(world));
  const client = createWeirClient({ url: '', token: '', transport, pace: hastyPace() });
  const seen: Windowed[] = [];
  const reader = client.window(id, encodeRevision(place), (windowed) => seen.push(windowed));
  const now = () => seen.at(-1)!;
  const idle = () => until('it is read', () => now().loading === null);
  const span = () => {
    const revisions = now().window!.entries.map((entry) => entry.revision);
    expect(revisions).toEqual(revisions.map((_, i) => revisions[0]! + i));
    return [revisions[0], revisions.at(-1)];
  };
  return { world, transport, reader, seen, now, idle, span };
}

it('D-53 reads a page to each side of a place, the place included, and goes on both ways to the ends', async () => {
  const { reader, idle, span, now, world, transport } = begin(200);
  await idle();
  expect(span()).toEqual([200 - WINDOW_PAGE, 199 + WINDOW_PAGE]);
  await Promise.all([reader.loadOlder(), reader.loadOlder(), reader.loadNewer()]);
  expect(span()).toEqual([200 - 2 * WINDOW_PAGE, 199 + WINDOW_PAGE]);
  while (now().window!.newerCursor !== null) await reader.loadNewer();
  while (now().window!.olderCursor !== null) await reader.loadOlder();
  expect(now().window!.entries).toEqual(world.entries);
  const { requests } = transport;
  await Promise.all([reader.loadOlder(), reader.loadNewer()]);
  expect(transport.requests).toBe(requests);
});

it.each([1, 2, 399, 400])('begins at place %i near an end as well', async (place) => {
  const { idle, now, span } = begin(place);
  await idle();
  expect(span()).toEqual([Math.max(1, place - WINDOW_PAGE), Math.min(400, place - 1 + WINDOW_PAGE)]);
  expect(now().window!.olderCursor === null).toBe(place < WINDOW_PAGE);
  expect(now().window!.newerCursor === null).toBe(place > 400 - WINDOW_PAGE);
});

it('D-55 shows nothing that may vanish', async () => {
  const { idle, span, now, world, reader } = begin(95, 200, 100);
  await idle();
  expect(span()).toEqual([45, 100]);
  expect(now().window!.newerCursor).toBeNull();
  world.takeOver();
  await reader.reload();
  expect(now().window!.entries).toEqual(world.entries.slice(44));
});

it('D-59 marks what rewinds took out, also when it was taken out since', async () => {
  const { idle, now, world, reader } = begin(200);
  await idle();
  expect(rowsOf(now().window!.entries, now().window!).some((row) => row.superseded)).toBe(false);
  world.put(rewound(180));
  world.acknowledge(401);
  await reader.loadOlder();
  const superseded = rowsOf(now().window!.entries, now().window!).filter((row) => row.superseded);
  expect(superseded.map((row) => row.entry.revision)).toEqual(
    now()
      .window!.entries.filter((entry) => entry.revision > 180 && entry.kind !== 'CHECKPOINT')
      .map((entry) => entry.revision),
  );
});

it('D-40 marks no summary as taken out, which holds whatever is taken back above its watermark', () => {
  const entries = journalOf(open, said(), said(), summarised(2, markOf(9)), said(), rewound(2));
  const { superseded } = applyEntries(emptyProjection, entries);
  expect(rowsOf(entries, { superseded }).map((row) => row.superseded)).toEqual([
    false,
    false,
    true,
    false,
    true,
    false,
  ]);
});

it('says what failed and reads again when asked, keeps what it has, and is silent once stopped', async () => {
  const { reader, transport, idle, now, seen } = begin(200);
  await idle();
  const shown = now().window;
  transport.down = true;
  await reader.loadNewer();
  expect(now()).toMatchObject({ loading: null, failure: { type: 'Network' } });
  expect(now().window).toBe(shown);
  transport.down = false;
  await reader.loadNewer();
  expect(now().failure).toBeNull();
  expect(now().window!.entries).toHaveLength(3 * WINDOW_PAGE);
  const reading = reader.loadOlder();
  reader.stop();
  const told = seen.length;
  await reading;
  expect(seen).toHaveLength(told);
});

it('D-53 keeps what it has and says so when a page does not meet it', async () => {
  const { reader, transport, idle, now } = begin(200);
  await idle();
  const shown = now().window;
  const { request } = transport;
  // A server that skips a page.
  transport.request = (document, variables, signal) =>
    request(document, { ...variables, before: encodeRevision(80) }, signal);
  await reader.loadOlder();
  expect(now()).toMatchObject({
    loading: null,
    failure: { message: expect.stringMatching(/Reload the page/) as string },
  });
  expect(now().window).toBe(shown);
});

it('ends calmly for a workstream that does not exist', async () => {
  const { transport } = begin(1);
  const client = createWeirClient({ url: '', token: '', transport, pace: hastyPace() });
  const seen: Windowed[] = [];
  client.window(workstreamGlobalId('w2'), encodeRevision(1), (windowed) => seen.push(windowed));
  await until('it is missing', () => seen.at(-1)?.missing === true);
  expect(seen.at(-1)).toMatchObject({ window: null, loading: null, failure: null });
});
