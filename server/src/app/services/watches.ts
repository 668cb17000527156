/**
 * Owns: watches as the GraphQL surface asks for them: whether one may be made or edited so, the command, and what is known
 * of them: what their workstream has written down, with how their polls go.
 * Does not own: what a command does to a watch (the core), polling (the round of watches).
 *
 * Invariants: nothing is run here; what a workstream knows of a watch goes before what is stored; what an edit leaves is
 * taken from the version that its caller saw, or the edit is refused.
 */
import type { ConditionTrialModel, Viewer, WatchModel } from 'schema/model';
import type { InvalidInput } from 'schema/outcome';
import { isBlank, type Watch, type WatchDefinition } from 'schema/projection';
import type {
  AskedCondition,
  ChangeWatch,
  ChangeWatchOutcome,
  CreateWatch,
  CreateWatchOutcome,
  Services,
  UpdateWatch,
  UpdateWatchOutcome,
} from 'schema/services';
import { deniedIn } from '../../core/approvals/denied.ts';
import { defineWatch, endingAfter, watchCapacity, type AskedWatch } from '../../core/watches/definition.ts';
import type { Command } from '../../core/inputs.ts';
import type { ConditionFacts, Conditions } from '../../ports/conditions.ts';
import type { WatchRow, WatchStore } from '../../ports/watches.ts';
import { freely } from '../feed/reading.ts';
import type { WatchRound } from '../rounds/watches.ts';
import { invalid } from '../views/refusals.ts';
import { commandActor, outcomeView, runCommand, withActor, type CommandDeps } from './command.ts';

export interface WatchesDeps extends CommandDeps {
  readonly watches: WatchStore;
  readonly conditions: Conditions;
  readonly watchRound: Pick<WatchRound, 'figures'>;
  readonly sessionId: string;
  readonly host: string;
}

/** Most that have ended and are told with a workstream. */
const endedShown = 50;

type Change = Extract<Command, { readonly type: 'changeWatch' }>['change'];
type Defined = { readonly type: 'defined'; readonly definition: WatchDefinition } | InvalidInput;

export function createWatches(deps: WatchesDeps): Services['watches'] {
  const { watches: store, conditions, watchRound, clock, sessionId, host } = deps;

  async function define(asked: AskedWatch): Promise<Defined> {
    const asDefined = defineWatch(asked);
    if (asDefined.type === 'refused') return invalid(asDefined.field, asDefined.problem);
    const definition = endingAfter(asDefined.definition, asDefined.lasts, clock.now());
    const defined = { type: 'defined', definition } as const;
    const denied = deniedIn(defined.definition.command);
    if (denied !== null) return invalid('command', denied);
    const { condition } = asked;
    if (condition === null || isBlank(condition)) return defined;
    // As it was written: a column is one of the text that a person has before them.
    const checked = await conditions.check(condition);
    return checked.type === 'sound' ? defined : invalid('condition', placed(checked));
  }

  async function create(by: Viewer, input: CreateWatch): Promise<CreateWatchOutcome> {
    const defined = await define({ ...input, deadline: givenDeadline(input.deadline) });
    if (defined.type !== 'defined') return defined;
    return outcomeView(
      await runCommand(deps, by, input, { type: 'createWatch', definition: defined.definition }),
    );
  }

  async function update(by: Viewer, input: UpdateWatch): Promise<UpdateWatchOutcome> {
    const { workstreamId, watchId, version } = input;
    const outcome = await withActor(deps, by, workstreamId, async (actor, permit) => {
      // Looking at a condition takes none.
      permit.release();
      const known = actor.state().projection.watches.find(({ id }) => id === watchId);
      const seen = known?.version === version ? known.definition : null;
      const edited = seen && (await edit(seen, input));
      if (edited && edited.type !== 'defined') return edited;
      // What the caller did not see is not edited: the core says why, and keeps that under the key.
      const definition = edited?.definition ?? known?.definition ?? nothing;
      return commandActor(deps, actor, permit, by, input, {
        type: 'editWatch',
        watchId,
        version,
        definition,
      });
    });
    return outcome.type === 'Rejected' ? outcome : outcomeView(outcome);
  }

  async function edit(seen: WatchDefinition, input: UpdateWatch): Promise<Defined> {
    const { name, deadline } = input;
    const defined = await define({
      name,
      command: input.command ?? seen.command,
      condition: input.condition ?? seen.condition,
      every: input.every ?? String(seen.everySeconds),
      maxPolls: input.maxPolls ?? seen.maxPolls,
      deadline: givenDeadline(deadline),
      repeat: input.repeat ?? seen.repeat,
      instruction: input.instruction ?? seen.instruction,
    });
    if (defined.type !== 'defined' || deadline !== null) return defined;
    return { type: 'defined', definition: { ...defined.definition, deadline: seen.deadline } };
  }

  const change =
    (what: Change) =>
    async (by: Viewer, input: ChangeWatch): Promise<ChangeWatchOutcome> =>
      outcomeView(
        // What is wanted is part of the input: a key that was used to pause is not one that resumes.
        await runCommand(deps, by, { ...input, change: what } as ChangeWatch, {
          type: 'changeWatch',
          watchId: input.watchId,
          change: what,
        }),
      );

  /** Null: there is nothing to judge. */
  async function factsOf({ sample, watchId }: AskedCondition): Promise<ConditionFacts | null> {
    if (sample) return { ...sample, poll: sample.prevOutput === null ? 1 : 2, elapsedSeconds: 0 };
    const row = watchId !== null && isId(watchId) ? await store.get(watchId) : null;
    if (row?.lastOutput == null) return null;
    return {
      output: row.lastOutput,
      prevOutput: row.lastOutput,
      exitCode: row.lastExitCode ?? -1,
      poll: row.polls + 1,
      elapsedSeconds: Math.max(0, Math.floor((clock.now() - Date.parse(row.watch.createdAt)) / 1_000)),
    };
  }

  async function tryCondition(asked: AskedCondition, reading = freely): Promise<ConditionTrialModel> {
    const { expression } = asked;
    const none = isBlank(expression);
    const checked = none ? sound : await reading.aside(() => conditions.check(expression));
    if (checked.type === 'unsound') {
      const { line, column, message } = checked;
      return { soundness: 'UNSOUND', line, column, verdict: null, message };
    }
    const trial = { soundness: 'SOUND', line: null, column: null, verdict: null, message: null } as const;
    const facts = await factsOf(asked);
    if (!facts) return trial;
    const { output, prevOutput } = facts;
    if (none)
      return { ...trial, verdict: prevOutput !== null && prevOutput !== output ? 'HOLDS' : 'HOLDS_NOT' };
    const judged = await reading.aside(() => conditions.judge(expression, facts, true));
    switch (judged.type) {
      case 'holds':
        return { ...trial, verdict: 'HOLDS' };
      case 'holdsNot':
        return { ...trial, verdict: 'HOLDS_NOT' };
      case 'failed':
      case 'unjudged':
        return { ...trial, verdict: 'FAILED', message: judged.message };
    }
  }

  return {
    async get(watchId) {
      const row = await store.get(watchId);
      return row && modelOf(row);
    },
    async list({ workstreamId, ended, first, after }) {
      const rows = await store.list({ workstreamId, ended, limit: first + 1, after });
      return { items: rows.slice(0, first).map(modelOf), hasNext: rows.length > first };
    },
    async ofWorkstream(workstreamId, watches, ended) {
      if (watches.length === 0 && !ended) return [];
      const limit = watchCapacity + (ended ? endedShown : 0);
      const rows = await store.list({ workstreamId, ended, limit, after: null });
      const rowOf = (id: string) => rows.find(({ watch }) => watch.id === id);
      const isOver = ({ watch }: WatchRow) =>
        watch.status === 'ENDED' && !watches.some(({ id }) => id === watch.id);
      return [
        ...watches.map((watch) => modelOf({ ...(rowOf(watch.id) ?? unpolled), workstreamId, watch })),
        ...(ended ? rows.filter(isOver).slice(0, endedShown).map(modelOf) : []),
      ];
    },
    polls: (watchId, { first, before }) => store.polls(watchId, { limit: first, before }),
    tryCondition,
    async figures() {
      const { due, late, waiting } = await store.counts({ sessionId, host });
      const { lateP99Ms, ...figures } = watchRound.figures();
      return { ...figures, lateP99Ms: lateP99Ms === null ? null : Math.round(lateP99Ms), due, late, waiting };
    },
    create,
    update,
    pause: change('PAUSE'),
    resume: change('RESUME'),
    runNow: change('RUN_NOW'),
    cancel: change('CANCEL'),
  };
}

const sound = { type: 'sound' } as const;

/** Of what is not there. */
const nothing: WatchDefinition = {
  name: '',
  command: '',
  condition: null,
  everySeconds: 0,
  maxPolls: 0,
  deadline: null,
  repeat: false,
  instruction: null,
};

/** Of a watch that is not stored yet. */
const unpolled = {
  polls: 0,
  fires: 0,
  nextPollAt: null,
  lastPollAt: null,
  lastExitCode: null,
  lastOutput: null,
  lastError: null,
} as const;

const modelOf = ({ watch, ...polling }: WatchRow): WatchModel => ({ ...polling, ...(watch satisfies Watch) });

const givenDeadline = (deadline: string | null): string | null =>
  deadline === null || isBlank(deadline) ? null : deadline;

/** Text that can be an id of ours; the database takes no other text for one. */
const isId = (text: string): boolean => /^[\w-]{1,64}$/.test(text);

/** What is wrong, and where. */
function placed({
  line,
  column,
  message,
}: {
  readonly line: number;
  readonly column: number | null;
  readonly message: string;
}): string {
  if (column === null) return message;
  return line === 1 ? `Column ${column}: ${message}` : `Line ${line}, column ${column}: ${message}`;
}
