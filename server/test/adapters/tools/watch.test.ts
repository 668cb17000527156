import { describe, expect, it } from 'vitest';
import type { Watch, WatchDefinition } from 'schema/projection';
import type { WatchToolDeps } from '../../../src/adapters/tools/watch.ts';
import type { WatchAction } from '../../../src/core/watches/tool.ts';
import type { WatchRow } from '../../../src/ports/watches.ts';
import { createBench } from './support.ts';

/** The workstream of the bench. */
const here = 'workstream-1';

const definitionOf = (name: string): WatchDefinition => ({
  name,
  command: 'gh pr view 7',
  condition: null,
  everySeconds: 300,
  maxPolls: 100,
  deadline: null,
  repeat: false,
  instruction: null,
});

interface RowParts {
  readonly watch?: Partial<Watch>;
  readonly definition?: Partial<WatchDefinition>;
  readonly row?: Partial<WatchRow>;
}

function rowOf(name: string, { watch, definition, row }: RowParts = {}): WatchRow {
  return {
    workstreamId: here,
    watch: {
      id: `0${name}-id-of-many-characters`,
      version: 1,
      definition: { ...definitionOf(name), ...definition },
      status: 'ACTIVE',
      pausedBy: null,
      end: null,
      author: { id: 'ada', name: 'Ada' },
      depth: 1,
      createdAt: '2026-01-02T03:00:00.000Z',
      lastFire: 0,
      firesTold: 0,
      due: null,
      ...watch,
    },
    polls: 0,
    fires: 0,
    nextPollAt: '2026-01-02T03:05:00.000Z',
    lastPollAt: null,
    lastExitCode: null,
    lastOutput: null,
    lastError: null,
    ...row,
  };
}

/** A store with these rows, newest first, or one that is away. */
function watchBench(rows: readonly WatchRow[] | 'away' = []) {
  const checked: string[] = [];
  const deps: WatchToolDeps = {
    conditions: {
      check: async (expression) => {
        checked.push(expression);
        return expression.includes('&&&')
          ? { type: 'unsound', message: 'Unexpected "&".', line: 2, column: 5 }
          : { type: 'sound' };
      },
    },
    store: {
      list: async ({ workstreamId, ended, limit }) => {
        if (rows === 'away') throw new Error('connect ECONNREFUSED 10.0.0.1');
        return rows
          .filter((row) => row.workstreamId === workstreamId && (ended || row.watch.status !== 'ENDED'))
          .slice(0, limit);
      },
    },
  };
  const { prepare, run } = createBench({}, deps);
  return {
    checked,
    prepare: (args: object) => prepare('watch', args),
    run: (args: object) => run('watch', args, null),
    /** What a call that is ready wants of the core; else why it is not ready. */
    async wanted(args: object): Promise<WatchAction | string | null> {
      const prepared = await prepare('watch', args);
      if (prepared.type === 'invalid') return prepared.message;
      return prepared.basis === null ? null : (JSON.parse(prepared.basis) as WatchAction);
    },
  };
}

const create = (args: object = {}) => ({ action: 'create', command: 'ls', ...args });

describe('the tool', () => {
  it('is there where watches are', () => {
    const { prepare } = createBench();
    return expect(prepare('watch', { action: 'list' })).resolves.toMatchObject({
      type: 'invalid',
      message: expect.stringContaining('There is no tool "watch"') as string,
    });
  });

  it('needs approval to create, and none to list and cancel (D-80)', async () => {
    const { prepare } = watchBench();
    expect(await prepare(create())).toMatchObject({ type: 'ready', access: 'EXECUTE' });
    expect(await prepare({ action: 'list' })).toMatchObject({ type: 'ready', access: 'READ', basis: null });
    expect(await prepare({ action: 'cancel', name: 'a' })).toMatchObject({ type: 'ready', access: 'READ' });
  });

  it.each([
    [{ action: 'pause' }, /action/],
    [{ command: 'ls' }, /action/],
    [create({ stop_on: 3 }), /stop_on/],
    [create({ command: 3 }), /command/],
    [create({ poll_every: true }), /poll_every/],
    [create({ max_polls: 'ten' }), /max_polls/],
    [create({ repeat: 'yes' }), /repeat/],
    [create({ every: '5m' }), /every/],
  ])('refuses %j cleanly', async (args, message) => {
    expect(await watchBench().prepare(args)).toEqual({
      type: 'invalid',
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('creating a watch', () => {
  it('takes every 5 minutes, 100 polls and any change when nothing else is said', async () => {
    expect(await watchBench().wanted(create({ command: '  gh pr view 7 \n' }))).toEqual({
      action: 'create',
      definition: definitionOf(''),
      lasts: null,
    });
  });

  it('takes all that may be said, numbers as seconds, and a deadline from when it is made', async () => {
    const args = create({
      name: ' deploy ',
      poll_every: 90,
      stop_on: ' exit_code == 0 ',
      max_polls: 10_000,
      deadline: '8h',
      repeat: true,
      instruction: 'Tell me.',
    });
    expect(await watchBench().wanted(args)).toEqual({
      action: 'create',
      definition: {
        name: 'deploy',
        command: 'ls',
        condition: 'exit_code == 0',
        everySeconds: 90,
        maxPolls: 10_000,
        deadline: null,
        repeat: true,
        instruction: 'Tell me.',
      },
      lasts: 28_800,
    });
    expect(await watchBench().wanted(create({ deadline: 3_600 }))).toMatchObject({
      lasts: 3_600,
    });
    for (const blank of [{ deadline: '' }, { stop_on: ' ' }, { instruction: '' }, { name: '' }]) {
      expect(await watchBench().wanted(create(blank))).toMatchObject({
        definition: { name: '', condition: null, instruction: null },
        lasts: null,
      });
    }
  });

  it('shows the whole command, the condition and how often, with nothing hidden', async () => {
    const command = `cd x\n${'echo more\n'.repeat(100)}rm -rf ./b\u202Euild`;
    const prepared = await watchBench().prepare(
      create({
        command,
        name: 'deploy',
        poll_every: '2h30m',
        stop_on: 'changed &&\n  exit_code == 0',
        max_polls: 7,
        deadline: 'P1D',
        instruction: 'Say\u200B so.',
      }),
    );
    expect(prepared).toMatchObject({
      preview: {
        kind: 'TEXT',
        title: 'watch "deploy" every 2 h 30 min',
        body: [
          'Command:',
          command.replace('\u202E', '⟨U+202E⟩'),
          '',
          'Polled: every 2 h 30 min (9000 s), at most 7 times, for 24 h (86400 s) from your approval at the latest',
          'Fires: when this holds: changed &&\n  exit_code == 0',
          'Then: starts a turn, and ends',
          'Instruction: Say⟨U+200B⟩ so.',
        ].join('\n'),
      },
    });
    expect(await watchBench().prepare(create({ repeat: true }))).toMatchObject({
      preview: {
        title: 'watch (named when it is made) every 5 min',
        body: expect.stringMatching(
          /Fires: when the output changes\nThen: goes on, and starts a turn each time$/,
        ) as string,
      },
    });
  });

  /** Each is wrong in all that comes after it, too: the first failure is the one that is told. */
  it.each([
    ['no command', { command: undefined }, /command to poll/],
    ['a blank command', { command: ' \n\t ' }, /command to poll/],
    ['a command of nothing to see', { command: '\u200B' }, /command to poll/],
    [
      'a denied command (D-82)',
      { command: 'rm  -fr /' },
      /^"rm -fr \/" is never run.*Nothing of the command was run/,
    ],
    ['a broken command', { command: 'a\0b' }, /NUL/],
    ['no duration', { command: 'ls', poll_every: 'soon' }, /^poll_every: "soon" is no duration/],
    ['a negative interval', { command: 'ls', poll_every: -5 }, /^poll_every: /],
    [
      'too short an interval',
      { command: 'ls', poll_every: 9.99 },
      /^poll_every: The shortest interval is 10 s/,
    ],
    [
      'too long an interval',
      { command: 'ls', poll_every: '86401' },
      /^poll_every: The longest interval is 24 h/,
    ],
    ['no polls', { command: 'ls', poll_every: 10, max_polls: 0 }, /^max_polls: Between 1 and 10000/],
    ['too many polls', { command: 'ls', poll_every: 10, max_polls: 10_001 }, /^max_polls: /],
    ['half a poll', { command: 'ls', poll_every: 10, max_polls: 1.5 }, /^max_polls: /],
    ['a bad deadline', { command: 'ls', poll_every: 10, max_polls: 1, deadline: 'soon' }, /^deadline: /],
    [
      'an unsound condition',
      { command: 'ls', poll_every: 10, max_polls: 1, deadline: '1h' },
      /^stop_on \(line 2, character 5\): Unexpected "&"\.$/,
    ],
  ])('is refused for %s, before what comes after it', async (_, right, message) => {
    const wrong = {
      poll_every: 'later',
      max_polls: -1,
      deadline: 'never',
      stop_on: 'a &&& b',
      name: 'x'.repeat(60),
    };
    expect(await watchBench().prepare({ action: 'create', ...wrong, ...right })).toEqual({
      type: 'invalid',
      message: expect.stringMatching(message) as string,
    });
  });

  it('asks nobody which others there are: the core knows what it has, and what other calls do first', async () => {
    const full = Array.from({ length: 5 }, (_, index) => rowOf(`w${index}`));
    for (const rows of [full, 'away'] as const)
      expect(await watchBench(rows).wanted(create({ name: 'w1' }))).toMatchObject({
        action: 'create',
        definition: { name: 'w1' },
      });
  });

  it('checks the condition as it is kept, once, and none when there is none', async () => {
    const { wanted, checked } = watchBench();
    await wanted(create());
    expect(checked).toEqual([]);
    await wanted(create({ stop_on: ' changed ' }));
    expect(checked).toEqual(['changed']);
  });

  it('makes nothing when it is run without having been shown', async () => {
    expect(await watchBench().run(create())).toMatchObject({ outcome: 'ERROR', effect: 'NONE' });
  });
});

describe('cancelling a watch', () => {
  const over = rowOf('over', { watch: { status: 'ENDED', end: 'MAX_POLLS' } });
  const rows = [
    rowOf('deploy', { watch: { id: 'abcd1234' } }),
    rowOf('tests', { watch: { id: 'abcd5678' } }),
    rowOf('abcd12', { watch: { id: 'ffff0000' } }),
    over,
    rowOf('elsewhere', { row: { workstreamId: 'another' }, watch: { id: 'eeee0000' } }),
  ];

  it('needs a name', async () => {
    for (const name of [undefined, '', '  ']) {
      expect(await watchBench(rows).wanted({ action: 'cancel', name })).toMatch(/which watch to cancel/);
    }
  });

  it.each([
    ['its name', ' deploy ', 'deploy'],
    ['its id', 'abcd1234', 'abcd1234'],
    ['the beginning of its id', 'abcd5', 'abcd5678'],
    ['its name before the id of another', 'abcd12', 'abcd12'],
    ['what begins two ids, for the core to say what there is', 'abcd', 'abcd'],
    ['what is no pattern', '%', '%'],
    ['too short a beginning', 'abc', 'abc'],
    ['what is not known here: it may be made in the same answer', 'new', 'new'],
    ['the beginning of an id elsewhere', 'eeee', 'eeee'],
  ])('takes %s', async (_, name, wanted) => {
    expect(await watchBench(rows).wanted({ action: 'cancel', name })).toEqual({
      action: 'cancel',
      name: wanted,
    });
  });

  it('says of one that has ended that it has, and why', async () => {
    const { prepare, run } = watchBench(rows);
    const call = { action: 'cancel', name: 'over' };
    expect(await prepare(call)).toMatchObject({ type: 'ready', access: 'READ', basis: null });
    expect(await run(call)).toEqual({
      outcome: 'OK',
      effect: 'NONE',
      content: 'The watch "over" has ended already: it had used up its polls.',
    });
  });

  it('takes the one that lives of two with one name', async () => {
    const { wanted } = watchBench([over, rowOf('over')]);
    expect(await wanted({ action: 'cancel', name: 'over' })).toEqual({ action: 'cancel', name: 'over' });
  });

  it('is for the core to decide while the store is away', async () => {
    expect(await watchBench('away').wanted({ action: 'cancel', name: 'over' })).toEqual({
      action: 'cancel',
      name: 'over',
    });
    expect(await watchBench('away').run({ action: 'cancel', name: 'over' })).toMatchObject({
      outcome: 'ERROR',
      effect: 'NONE',
      content: expect.stringContaining('was not cancelled') as string,
    });
  });
});

describe('listing watches', () => {
  it('says that there are none', async () => {
    const { run } = watchBench([rowOf('over', { watch: { status: 'ENDED', end: 'FIRED' } })]);
    expect(await run({ action: 'list' })).toEqual({
      outcome: 'OK',
      effect: 'NONE',
      content: 'There are no watches.',
    });
  });

  it('says of each how it goes: never polled and never fired differ (D-86)', async () => {
    const { run } = watchBench([
      rowOf('new', { watch: { id: '11111111-2222' } }),
      rowOf('old', {
        watch: { id: '33333333-4444', status: 'PAUSED' },
        definition: { condition: 'exit_code != 0', repeat: true, command: `a\nb${'x'.repeat(500)}` },
        row: { polls: 12, fires: 0, nextPollAt: null, lastExitCode: 1, lastError: 'No such key: state.\n' },
      }),
      rowOf('elsewhere', { row: { workstreamId: 'another' } }),
    ]);
    const { content } = await run({ action: 'list' });
    expect(content.split('\n')).toEqual([
      '"new" (11111111): every 5 min, not polled yet, at most 100 times, fires when the output changes, next poll 2026-01-02T03:05:00.000Z',
      '  $ gh pr view 7',
      '"old" (33333333): every 5 min, poll 12 of 100, fires when this holds: exit_code != 0, goes on after a fire, fired 0 times, last exit code 1, last error: No such key: state.⟨U+000A⟩, paused',
      expect.stringMatching(/^ {2}\$ a⟨U\+000A⟩bx{100,}…$/) as string,
    ]);
  });

  it('says when the store is away, and nothing of where it is', async () => {
    const result = await watchBench('away').run({ action: 'list' });
    expect(result).toMatchObject({
      outcome: 'ERROR',
      effect: 'NONE',
      content: expect.stringMatching(/database is away/) as string,
    });
    expect(result.content).not.toMatch(/10\.0\.0\.1/);
  });
});
