/**
 * Owns: what the `watch` tool means to a model and to the person who is asked: checking, previewing and listing.
 * Does not own: making and cancelling a watch, which the core does in the step that would start the call (`basisOf`), or
 * polling it.
 *
 * Invariant: what is refused here was asked of nobody and wrote nothing. The limits of a workstream are the core's, which
 * knows what other calls of the same answer do first.
 */
import * as z from 'zod';
import { cut } from '../../core/kit/cut.ts';
import {
  defineWatch,
  mostPolls,
  usualPolls,
  watchCapacity,
  type AskedWatch,
} from '../../core/watches/definition.ts';
import { spanOf } from '../../core/watches/message.ts';
import { basisOf, watchTool } from '../../core/watches/tool.ts';
import type { Conditions } from '../../ports/conditions.ts';
import type { WatchRow, WatchStore } from '../../ports/watches.ts';
import {
  isBlank,
  type ToolResult,
  type WatchDefinition,
  type WatchEnd,
  visible,
  visibleLine,
} from 'schema/projection';
import { refusedCommand } from './command.ts';
import { failed, refuse, type Previewed, type Refusal, type Tool } from './tool.ts';

export interface WatchToolDeps {
  readonly store: Pick<WatchStore, 'list'>;
  readonly conditions: Pick<Conditions, 'check'>;
}

const usualInterval = '5m';
/** Watches that are looked through for one that has ended. */
const mostEnded = 100;
const shownCommand = 200;
/** Shorter beginnings of an id are a name somebody got wrong. */
const leastOfId = 4;

const schema = z.strictObject({
  action: z.enum(['create', 'list', 'cancel']),
  command: z
    .string()
    .optional()
    .describe('create: the command line to poll, as /bin/sh reads it, run in the workspace.'),
  poll_every: z
    .union([z.string(), z.number()])
    .optional()
    .describe(
      `create: how often, such as 30s, 5m, 2h30m or seconds; 10s to 24h, ${usualInterval} if left out.`,
    ),
  stop_on: z
    .string()
    .optional()
    .describe(
      'create: a condition in CEL about output, data (the output as JSON, or null), exit_code, prev_output, changed, poll ' +
        'and elapsed (seconds), such as data.state == "MERGED" or exit_code != 0. Left out: fires when the output changes.',
    ),
  name: z
    .string()
    .optional()
    .describe(
      'create: a short name, chosen for you if left out. cancel: the name, or the beginning of the id.',
    ),
  max_polls: z
    .number()
    .optional()
    .describe(`create: ends after so many polls, 1 to ${mostPolls}; ${usualPolls} if left out.`),
  deadline: z
    .union([z.string(), z.number()])
    .optional()
    .describe('create: ends this long after it is made at the latest, such as 8h.'),
  repeat: z.boolean().optional().describe('create: goes on after it fired. Left out: it ends when it fires.'),
  instruction: z.string().optional().describe('create: what you will have to do when it fires.'),
});

type Arguments = z.infer<typeof schema>;

export function createWatch(deps: WatchToolDeps): Tool<Arguments> {
  const { store } = deps;

  async function previewCreate(args: Arguments): Promise<Previewed | Refusal> {
    const command = (args.command ?? '').trim();
    if (isBlank(command)) return refuse('Say in `command` which command to poll; "create" needs it.');
    const refused = refusedCommand(command);
    if (refused !== null) return refused;
    const defined = defineWatch(askedIn(args, command));
    if (defined.type === 'refused')
      return refuse(`${argumentOf[defined.field]}: ${visibleLine(defined.problem)}`);
    const { definition, lasts } = defined;
    const unsound = await unsoundness(definition.condition, deps);
    if (unsound !== null) return unsound;
    return {
      access: 'EXECUTE',
      preview: previewOf(definition, lasts),
      basis: basisOf({ action: 'create', definition, lasts }),
    };
  }

  async function previewCancel({ name = '' }: Arguments, workstreamId: string): Promise<Previewed | Refusal> {
    const asked = name.trim();
    if (asked === '') return refuse('Say in `name` which watch to cancel; "list" shows them.');
    const preview = {
      kind: 'TEXT',
      title: `cancel watch "${shortened(asked)}"`,
      body: visible(asked),
    } as const;
    const rows = await activeIn(store, workstreamId);
    const known = rows?.find(({ watch }) => watch.definition.name === asked);
    const begun = (rows ?? []).filter(({ watch }) => asked.length >= leastOfId && watch.id.startsWith(asked));
    const [id, ...others] = begun.map(({ watch }) => watch.id);
    // Not found is not refused here: another call of the same answer may be about to make it.
    if (!known && id !== undefined && others.length === 0) {
      return { access: 'READ', preview, basis: basisOf({ action: 'cancel', name: id }) };
    }
    const isOver = !known && (await endedIn(store, workstreamId, asked)) !== null;
    return { access: 'READ', preview, basis: isOver ? null : basisOf({ action: 'cancel', name: asked }) };
  }

  return {
    name: watchTool,
    access: 'EXECUTE',
    description: [
      'Wait for something outside without asking again and again: a command is polled in the background, and a new turn is',
      'started with its output when the condition holds or the output changes. End your turn meanwhile.',
      `"create" makes one, "list" shows those of this workstream, "cancel" ends one. At most ${watchCapacity} at a time.`,
    ].join(' '),
    schema,
    async preview(args, _workspace, workstreamId) {
      switch (args.action) {
        case 'create':
          return await previewCreate(args);
        case 'cancel':
          return await previewCancel(args, workstreamId);
        case 'list':
          return { access: 'READ', preview: { kind: 'TEXT', title: 'list watches', body: '' }, basis: null };
      }
    },
    async run(args, { workstreamId }): Promise<ToolResult> {
      switch (args.action) {
        case 'list':
          return await listed(store, workstreamId);
        case 'cancel':
          return await alreadyOver(store, workstreamId, (args.name ?? '').trim());
        case 'create':
          return failed('The watch was not made: nobody was shown what it does. Call the tool again.');
      }
    },
  };
}

const askedIn = (args: Arguments, command: string): AskedWatch => ({
  name: args.name ?? null,
  command,
  condition: args.stop_on ?? null,
  every: String(args.poll_every ?? usualInterval),
  maxPolls: args.max_polls ?? null,
  deadline: args.deadline === undefined || args.deadline === '' ? null : String(args.deadline),
  repeat: args.repeat ?? false,
  instruction: args.instruction ?? null,
});

/** What a model calls it. */
const argumentOf: Readonly<Record<keyof AskedWatch, keyof Arguments>> = {
  name: 'name',
  command: 'command',
  condition: 'stop_on',
  every: 'poll_every',
  maxPolls: 'max_polls',
  deadline: 'deadline',
  repeat: 'repeat',
  instruction: 'instruction',
};

async function unsoundness(condition: string | null, { conditions }: WatchToolDeps): Promise<Refusal | null> {
  if (condition === null) return null;
  const check = await conditions.check(condition);
  if (check.type === 'sound') return null;
  const place = check.column === null ? '' : ` (line ${check.line}, character ${check.column})`;
  return refuse(`stop_on${place}: ${visibleLine(check.message)}`);
}

/** Null: the store is away, and only the core knows. */
async function activeIn(
  store: WatchToolDeps['store'],
  workstreamId: string,
): Promise<readonly WatchRow[] | null> {
  try {
    return await store.list({ workstreamId, ended: false, limit: watchCapacity, after: null });
  } catch {
    return null;
  }
}

async function endedIn(
  store: WatchToolDeps['store'],
  workstreamId: string,
  name: string,
): Promise<WatchEnd | null> {
  try {
    const rows = await store.list({ workstreamId, ended: true, limit: mostEnded, after: null });
    return rows.find(({ watch }) => watch.definition.name === name || watch.id === name)?.watch.end ?? null;
  } catch {
    return null;
  }
}

const firesWhen = ({ condition }: WatchDefinition): string =>
  condition === null ? 'when the output changes' : `when this holds: ${condition}`;

/** In words and in seconds, where that says more. */
function inFull(seconds: number): string {
  const [words, plain] = [spanOf(seconds), `${seconds} s`];
  return words === plain ? plain : `${words} (${plain})`;
}

function previewOf(definition: WatchDefinition, lasts: number | null): Previewed['preview'] {
  const { name, everySeconds, maxPolls, repeat, instruction, command } = definition;
  return {
    kind: 'TEXT',
    title: `watch ${name === '' ? '(named when it is made)' : `"${shortened(name)}"`} every ${spanOf(everySeconds)}`,
    body: visible(
      [
        'Command:',
        command,
        '',
        `Polled: every ${inFull(everySeconds)}, at most ${maxPolls} times${lasts === null ? '' : `, for ${inFull(lasts)} from your approval at the latest`}`,
        `Fires: ${firesWhen(definition)}`,
        repeat ? 'Then: goes on, and starts a turn each time' : 'Then: starts a turn, and ends',
        ...(instruction === null ? [] : [`Instruction: ${instruction}`]),
      ].join('\n'),
    ),
  };
}

const shortened = (text: string): string => {
  const line = visibleLine(text);
  return line.length > 100 ? `${cut(line, 99)}…` : line;
};

async function listed(store: WatchToolDeps['store'], workstreamId: string): Promise<ToolResult> {
  const rows = await activeIn(store, workstreamId);
  if (rows === null) {
    return failed(
      'The watches cannot be listed now, for the database is away. They are kept, and polled again when it is back. Try later.',
    );
  }
  const content = rows.length === 0 ? 'There are no watches.' : rows.map(lineOf).join('\n');
  return { outcome: 'OK', effect: 'NONE', content };
}

function lineOf({ watch, polls, fires, nextPollAt, lastExitCode, lastError }: WatchRow): string {
  const { definition, id, status } = watch;
  const facts = [
    `"${definition.name}" (${id.slice(0, 8)}): every ${spanOf(definition.everySeconds)}`,
    polls === 0
      ? `not polled yet, at most ${definition.maxPolls} times`
      : `poll ${polls} of ${definition.maxPolls}`,
    `fires ${firesWhen(definition)}`,
    ...(definition.repeat ? [`goes on after a fire, fired ${fires} times`] : []),
    ...(lastExitCode === null ? [] : [`last exit code ${lastExitCode}`]),
    ...(lastError === null ? [] : [`last error: ${lastError}`]),
    status === 'PAUSED' ? 'paused' : nextPollAt === null ? 'being polled' : `next poll ${nextPollAt}`,
  ];
  const command = visibleLine(definition.command);
  return `${visibleLine(facts.join(', '))}\n  $ ${command.length > shownCommand ? `${cut(command, shownCommand - 1)}…` : command}`;
}

const over: Readonly<Record<WatchEnd, string>> = {
  FIRED: 'it fired',
  MAX_POLLS: 'it had used up its polls',
  DEADLINE: 'its deadline had passed',
  CANCELED: 'it was cancelled',
  CONDITION_ERRORS: 'its condition failed three times in a row',
  DENIED: 'its command is not one that may run',
};

/** Only what has ended is cancelled here, which is nothing. */
async function alreadyOver(
  store: WatchToolDeps['store'],
  workstreamId: string,
  name: string,
): Promise<ToolResult> {
  const end = await endedIn(store, workstreamId, name);
  return end === null
    ? failed(
        `The watch "${shortened(name)}" was not cancelled: it could not be found. "list" shows which there are.`,
      )
    : {
        outcome: 'OK',
        effect: 'NONE',
        content: `The watch "${shortened(name)}" has ended already: ${over[end]}.`,
      };
}
