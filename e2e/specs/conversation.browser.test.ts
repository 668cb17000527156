/**
 * Owns: what a person sees of a conversation in a browser: an answer that comes, messages that wait, Stop, a page that
 * is loaded anew, an endpoint that refuses. Does not own: approvals (`approvals.browser.test.ts`).
 */
import type { Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { lastMessage, type ChatBody } from '../../server/test/support/scripted-provider.ts';
import { createBrowserWorld, patienceMs } from '../support/browser.ts';
import {
  answers,
  asks,
  button,
  exchange,
  inState,
  message,
  messages,
  misses,
  queue,
  reads,
  say,
  sees,
  sending,
  waits,
} from '../support/page.ts';

const world = createBrowserWorld();

const said = (body: ChatBody): readonly unknown[] => body.messages.map((m) => m.content);

it('shows an answer as it comes', async () => {
  world.provider.script([{ stream: ['The first half, ', { gate: 'half' }, 'and the second.'] }]);
  const { page } = await world.workstream('As it comes');
  await sees(page.getByText('Nothing was said yet.'));
  await asks(page, 'Tell me something.', 'The first half,');
  await inState(page, 'Thinking');
  world.provider.release('half');
  await reads(answers(page), 'The first half, and the second.');
  await inState(page, 'Idle');
  await misses(button(page, 'Stop'));
});

it('shows messages that wait while the agent is busy, and makes them part of the conversation in order (D-63)', async () => {
  world.provider.script([
    { stream: ['One moment. ', { gate: 'busy' }, 'Done.'] },
    { stream: ['Both taken.'] },
  ]);
  const { page } = await world.workstream('Queue');
  await asks(page, 'Do the first thing.', 'One moment.');
  await message(page).fill('Then the second.');
  await button(page, 'Queue').click();
  await reads(waits(page), 'Then the second.');
  await say(page, 'And the third.');
  await sees(queue(page).getByText('2 messages wait until this turn ends.'));
  expect(await waits(page).allInnerTexts()).toEqual(['Then the second.', 'And the third.']);
  expect(await messages(page).count()).toBe(1);

  world.provider.release('busy');
  await reads(answers(page).nth(1), 'Both taken.');
  await misses(queue(page));
  await inState(page, 'Idle');
  const order = await page.getByRole('article').allInnerTexts();
  expect(
    order.map(
      (text) =>
        text
          .split('\n')
          .filter((line) => line !== '')
          .slice(-1)[0],
    ),
  ).toEqual(['Do the first thing.', 'One moment. Done.', 'And the third.', 'Both taken.']);
  expect(said(world.provider.requests[1]!).slice(1)).toEqual([
    'Do the first thing.',
    'One moment. Done.',
    'Then the second.\n\nAnd the third.',
  ]);
});

it('stops in mid-stream, keeps what had come and says so, and holds the queue until it is resumed (D-65, D-63)', async () => {
  world.provider.script([
    { stream: ['As far as this ', { gate: 'never' }, 'and no further.'] },
    { stream: ['I went on.'] },
  ]);
  const { page } = await world.workstream('Stop');
  await asks(page, 'Go on for ever.', 'As far as this');
  await say(page, 'Something else, then.');
  await sees(queue(page).getByText('One message waits until this turn ends.'));
  await button(page, 'Stop').click();
  await inState(page, 'Idle');
  await world.provider.waitForAbort(1);
  await reads(answers(page), 'As far as this Stopped here.');
  await sees(queue(page).getByText('On hold:'));
  expect(world.provider.requests).toHaveLength(1);

  await button(queue(page), 'Resume').click();
  await reads(answers(page).nth(1), 'I went on.');
  await misses(queue(page));
  await inState(page, 'Idle');
  expect(said(world.provider.requests[1]!).slice(1)).toEqual([
    'Go on for ever.',
    expect.stringMatching(/^As far as this\s+\[The person stopped this answer here\.\]$/),
    'Something else, then.',
  ]);
});

it('stops with the Escape key', async () => {
  world.provider.script([{ stream: ['Half a ', { gate: 'never' }] }]);
  const { page } = await world.workstream('Escape');
  await asks(page, 'Go on.', 'Half a');
  await page.keyboard.press('Escape');
  await reads(answers(page), 'Half a Stopped here.');
  await inState(page, 'Idle');
});

it('has the text intact after a reload in mid-stream, and goes on without a repeat (D-54)', async () => {
  world.provider.script([
    { stream: ['Some words, ', { gate: 'one' }, 'some more, ', { gate: 'two' }, 'the end.'] },
  ]);
  const { page } = await world.workstream('Reload');
  await asks(page, 'Talk.', 'Some words,');
  await page.reload();
  await reads(answers(page), 'Some words,');
  world.provider.release('one');
  await reads(answers(page), 'Some words, some more,');
  await page.reload();
  world.provider.release('two');
  await reads(answers(page), 'Some words, some more, the end.');
  await inState(page, 'Idle');
  await page.reload();
  await reads(answers(page), 'Some words, some more, the end.');
  expect(await answers(page).count()).toBe(1);
  expect(await messages(page).count()).toBe(1);
  expect(world.provider.requests).toHaveLength(1);
});

it('keeps a message that is being written over a reload', async () => {
  const { page } = await world.workstream('Draft');
  await message(page).fill('Not sent yet');
  await page.reload();
  await sees(message(page));
  expect(await message(page).inputValue()).toBe('Not sent yet');
});

it('takes a message out of the field at once, so that typing on makes a second one, in order (D-63)', async () => {
  world.provider.script([
    { stream: ['One moment. ', { gate: 'busy' }, 'Done.'] },
    { when: (body) => lastMessage(body).content === 'Second.', stream: ['Both taken.'] },
  ]);
  const { page } = await world.workstream('Typed on');
  const sends = await atSend(page);
  await message(page).focus();
  await page.keyboard.type('First.');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Second.');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Not yet');
  const first = await sends.next();
  expect(await sending(page).getByRole('listitem').allInnerTexts()).toEqual([
    'Sending …First.',
    'NextSecond.',
  ]);
  expect(await message(page).inputValue()).toBe('Not yet');
  await first.continue();
  await (await sends.next()).continue();
  await misses(sending(page));
  expect(sends.seen()).toEqual(['First.', 'Second.']);
  await reads(waits(page), 'Second.');
  world.provider.release('busy');
  await reads(answers(page).nth(1), 'Both taken.');
  await inState(page, 'Idle');
  const order = await page.getByRole('article').allInnerTexts();
  expect(order.map((text) => text.split('\n').at(-1))).toEqual([
    'First.',
    'One moment. Done.',
    'Second.',
    'Both taken.',
  ]);
  expect(await message(page).inputValue()).toBe('Not yet');
});

it('neither loses nor doubles what a reload found under way, whether the server has it or not (D-60)', async () => {
  world.provider.script([
    { when: (body) => lastMessage(body).content === 'Taken.', stream: ['One moment. ', { gate: 'busy' }] },
    { when: (body) => lastMessage(body).content === 'Waits.', stream: ['Both taken.'] },
  ]);
  const { page } = await world.workstream('Reload while sending');
  const sends = await atSend(page);
  await say(page, 'Taken.');
  await say(page, 'Waits.');
  await message(page).fill('Not yet');
  // The server takes it, and the page never hears of that.
  await (await sends.next()).fetch();
  await reads(answers(page), 'One moment.');
  await page.reload();
  await (await sends.next()).continue();
  await (await sends.next()).continue();
  await misses(sending(page));
  expect(sends.seen()).toEqual(['Taken.', 'Taken.', 'Waits.']);
  await reads(waits(page), 'Waits.');
  world.provider.release('busy');
  await reads(answers(page).nth(1), 'Both taken.');
  await inState(page, 'Idle');
  expect(await messages(page).count()).toBe(2);
  expect(await message(page).inputValue()).toBe('Not yet');
});

it('puts a message that was refused back in front of what was typed meanwhile, and says why (D-11)', async () => {
  world.provider.script([
    { when: (body) => lastMessage(body).content === 'First.', stream: ['I am here. ', { gate: 'busy' }] },
    { when: (body) => lastMessage(body).content === 'Second.', stream: ['And again.'] },
  ]);
  const { page } = await world.workstream('Came back');
  const sends = await atSend(page);
  await message(page).focus();
  await page.keyboard.type('First.');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Second');
  const { fulfill } = await sends.next();
  await fulfill({
    data: {
      result: {
        __typename: 'QueueFull',
        code: 'QUEUE_FULL',
        message: 'The queue is full.',
        retryable: false,
      },
    },
  });
  await sees(page.getByRole('alert').getByText('The queue is full.'));
  expect(await message(page).inputValue()).toBe('First.\n\nSecond');
  // The caret is still where it was.
  await page.keyboard.type('.');
  expect(await message(page).inputValue()).toBe('First.\n\nSecond.');
  await page.keyboard.press('Enter');
  await (await sends.next()).continue();
  await (await sends.next()).continue();
  await misses(sending(page));
  expect(await page.getByRole('alert').count()).toBe(0);
  world.provider.release('busy');
  await reads(answers(page).nth(1), 'And again.');
  await inState(page, 'Idle');
  expect(sends.seen()).toEqual(['First.', 'First.', 'Second.']);
});

it('says in a sentence what to do when the endpoint refuses the key, and takes the next message', async () => {
  world.provider.script([
    {
      status: 401,
      body: { error: { message: 'Incorrect API key provided.', type: 'invalid_request_error' } },
    },
    { when: (body) => lastMessage(body).content === 'And now?', stream: ['Now it works.'] },
  ]);
  const { page } = await world.workstream('Refused');
  await say(page, 'Hello?');
  await inState(page, 'Failed');
  await sees(page.getByRole('alert').getByText(/refused the credentials.*; check OPENAI_API_KEY/));
  await exchange(page, 'And now?', 'Now it works.');
  expect(await page.getByRole('alert').count()).toBe(0);
});

interface HeldSend {
  continue(): Promise<void>;
  /** The server gets it; the page hears nothing. */
  fetch(): Promise<void>;
  fulfill(body: unknown): Promise<void>;
}

/** Holds every message that this page sends until the test lets it go on. */
async function atSend(page: Page): Promise<{ next(): Promise<HeldSend>; seen(): readonly string[] }> {
  const held: Route[] = [];
  const texts: string[] = [];
  let at = 0;
  await page.route('**/graphql', async (route) => {
    const body = route.request().postDataJSON() as {
      query: string;
      variables: { input?: { text?: string } };
    };
    if (!body.query.includes('mutation SendMessage')) return route.continue();
    texts.push(body.variables.input?.text ?? '');
    held.push(route);
  });
  return {
    seen: () => texts,
    async next() {
      await expect.poll(() => held.length, { timeout: patienceMs }).toBeGreaterThan(at);
      const route = held[at++]!;
      return {
        continue: () => route.continue(),
        fetch: async () => void (await route.fetch()),
        fulfill: (json) => route.fulfill({ json }),
      };
    },
  };
}
