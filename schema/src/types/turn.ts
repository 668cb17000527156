/** Owns: Turn on the wire, and stopping one. */
import { builder } from '../builder.ts';
import type {
  Compaction as CompactionModel,
  CompactionTrigger as Trigger,
  Turn as TurnModel,
  TurnOutcome as TurnOutcomeModel,
  TurnPhase as Phase,
} from '../projection/index.ts';
import type { StopTurnOutcome } from '../services.ts';
import { Author } from './author.ts';
import { Accepted } from './durability.ts';
import { enumOf } from './enum.ts';
import { onWorkstream } from './global-id.ts';
import { commandRefusals, resultOf, StaleTurn } from './rejection.ts';

export const TurnPhase = enumOf<Phase>(
  'TurnPhase',
  'Where a turn stands. RUNNING and COMPACTING alternate, either leads to INTERRUPTING, and the last three never change again.',
  {
    RUNNING: 'The model answers, tools run, or a person is asked.',
    COMPACTING: 'Older history is being summarised to make room.',
    INTERRUPTING: 'Stop was accepted; what still runs is being ended.',
    COMPLETED: 'It came to its end.',
    FAILED: 'It could not go on; the outcome says why.',
    CANCELED: 'It was stopped.',
  },
);

export const TurnKind = enumOf<TurnModel['kind']>('TurnKind', 'What a turn is for.', {
  CHAT: 'Answering messages.',
  COMPACT:
    'Summarising older history, because a person wants it (`compactWorkstream`). It has no message of its own.',
});

export const CompactionTrigger = enumOf<Trigger>('CompactionTrigger', 'Why older history is summarised.', {
  TOOLS: 'Results of calls have come, and there is too little room for them.',
  END_OF_TURN: 'The context is nearly full at the end of a turn.',
  OVERFLOW: 'The conversation does not fit what the model can read.',
  MANUAL: 'A person wants it.',
});

const Compaction = builder.objectRef<CompactionModel>('Compaction').implement({
  description: 'A summary that is being made.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the compaction; each try has another.' }),
    trigger: t.field({ type: CompactionTrigger, description: 'Why it is made.', resolve: (c) => c.trigger }),
    resume: t.exposeBoolean('resume', {
      description: 'The model had stopped to make room, as it was advised: it is told to go on afterwards.',
    }),
  }),
});

const TurnOutcomeType = enumOf<TurnOutcomeModel['type']>('TurnOutcomeType', 'How a turn ended.', {
  COMPLETED: 'It came to its end.',
  FAILED: 'It could not go on.',
  CANCELED: 'It was stopped.',
});

export const TurnOutcome = builder.objectRef<TurnOutcomeModel>('TurnOutcome').implement({
  description: 'How a turn ended. Given once; the first end wins.',
  fields: (t) => ({
    type: t.field({ type: TurnOutcomeType, description: 'How it ended.', resolve: (o) => o.type }),
    reason: t.exposeString('reason', {
      description:
        'A word for programs: `DONE`, `COMPACTED`, `STOPPED`, `RECOVERY_EXHAUSTED`, `MODEL_FINISH_UNKNOWN`, `MODEL_` and the kind of fault, for example `MODEL_AUTHENTICATION`, or `COMPACTION_` and why no summary came of it; more may come.',
    }),
    message: t.exposeString('message', {
      description: 'One sentence for a person: what happened and what to try. Empty when all is well.',
    }),
    unconfirmed: t.exposeIDList('unconfirmed', {
      description:
        'Ids of the calls whose end was not observed when the turn was forced to settle: they may still have had an effect.',
    }),
  }),
});

export const Turn = builder.objectRef<TurnModel>('Turn').implement({
  description:
    'One run of the loop of model and tools, from an accepted message to its outcome; or the summary a person wants.',
  fields: (t) => ({
    id: t.exposeID('id', {
      description: 'Id of the turn, as `stopTurn` takes it. It stays through recoveries.',
    }),
    kind: t.field({ type: TurnKind, description: 'What it is for.', resolve: (turn) => turn.kind }),
    phase: t.field({ type: TurnPhase, description: 'Where it stands.', resolve: (turn) => turn.phase }),
    compaction: t.field({
      type: Compaction,
      nullable: true,
      description: 'The summary that is being made; null, but while the phase is COMPACTING.',
      resolve: (turn) => turn.compaction ?? null,
    }),
    generation: t.exposeInt('generation', {
      description: 'The claim to write under which it runs now; grows with each recovery.',
    }),
    principal: t.field({
      type: Author,
      description: 'On whose credentials it runs.',
      resolve: (turn) => turn.principal,
    }),
    outcome: t.field({
      type: TurnOutcome,
      nullable: true,
      description: 'How it ended; null while it lives.',
      resolve: (turn) => turn.outcome,
    }),
    recoveries: t.exposeInt('recoveries', {
      description:
        'Recoveries in a row without a new answer or tool result between them; after three it fails.',
    }),
    depth: t.int({
      description:
        'How many watches stand between it and a person: 0 for a turn that a person began; that of the watch for one that a ' +
        'watch began.',
      resolve: (turn) => turn.depth ?? 0,
    }),
    startedAt: t.field({
      type: 'DateTime',
      description: 'When it began.',
      resolve: (turn) => turn.startedAt,
    }),
    settledAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it ended; null while it lives.',
      resolve: (turn) => turn.settledAt,
    }),
  }),
});

const StopTurnInput = builder.inputType('StopTurnInput', {
  description: 'What to stop.',
  fields: (t) => ({
    key: t.field({ type: 'IdempotencyKey', required: true, description: 'Names this intent.' }),
    workstreamId: t.id({ required: true, description: 'Global id of the workstream.' }),
    turnId: t.id({
      description:
        'The turn the caller saw, so that a late Stop cannot end a newer one; null: whatever runs.',
    }),
    force: t.boolean({
      description:
        'True: the turn is settled at once, without waiting until what it began is seen to end; calls that run are given the ' +
        'effect UNKNOWN, and go on being killed. Null: false.',
    }),
  }),
});

type Stopped = Extract<StopTurnOutcome, { type: 'Accepted' }>;
const StopTurnPayload = builder.objectRef<Stopped>('StopTurnPayload').implement({
  description:
    'Stop was accepted. The turn is INTERRUPTING until everything it owned has ended, at most about 10 s; with `force` it ' +
    'has settled already.',
  interfaces: [Accepted],
  fields: (t) => ({
    stopped: t.exposeIDList('stopped', {
      description:
        'Ids of what is being ended: the turn, its running calls, and the calls and answers that an earlier turn, forced to ' +
        'settle, left running.',
    }),
    nothingToStop: t.exposeBoolean('nothingToStop', {
      description: 'True when `stopped` is empty: nothing ran, which is a calm answer.',
    }),
  }),
});

builder.mutationField('stopTurn', (t) =>
  t.field({
    type: resultOf<StopTurnOutcome>('stopTurn', StopTurnPayload, {
      ...commandRefusals,
      STALE_TURN: StaleTurn,
    }),
    description:
      'Stops the live turn: the open answer is kept as far as it came, running tools are killed, open approvals are ' +
      'superseded, the queue is held. Answers when the stop itself is safe, not when the turn has ended: watch for that. ' +
      'STALE_TURN means that another turn than the one you named runs and nothing was stopped. Without a live turn it ends ' +
      'what a forced Stop left running; when there is nothing either, it is accepted and says `nothingToStop`. Stopping ' +
      'again with `force` ends the wait of a turn that is INTERRUPTING.',
    args: { input: t.arg({ type: StopTurnInput, required: true, description: 'What to stop.' }) },
    resolve: (_root, { input }, { services, viewer }) =>
      onWorkstream(input.workstreamId, (workstreamId) =>
        services.turns.stop(viewer, {
          ...input,
          workstreamId,
          turnId: input.turnId ?? null,
          force: input.force ?? false,
        }),
      ),
  }),
);
