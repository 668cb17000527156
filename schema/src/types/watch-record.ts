/**
 * Owns: a watch as its workstream has written it down, and what it says when it fires, on the wire.
 * Does not own: how its polls go (`watch.ts`).
 */
import { builder } from '../builder.ts';
import type {
  Fire as FireModel,
  Watch as RecordModel,
  WatchDefinition as DefinitionModel,
  WatchEnd as End,
} from '../projection/index.ts';
import { Author } from './author.ts';
import { enumOf } from './enum.ts';

export const WatchStatus = enumOf<RecordModel['status']>('WatchStatus', 'Whether a watch polls.', {
  ACTIVE: 'It polls when it is due.',
  PAUSED: 'It does not poll until it is resumed.',
  ENDED: 'It never polls again; `end` says why. Its name is free.',
});

const WatchPause = enumOf<NonNullable<RecordModel['pausedBy']>>('WatchPause', 'What paused a watch.', {
  PERSON: '`pauseWatch`. It stays paused when the workstream is opened.',
  CLOSED: 'The workstream was closed. It is resumed with it, and then polls once at once.',
});

const WatchEnd = enumOf<End>('WatchEnd', 'Why a watch has ended.', {
  FIRED: 'It fired, and was not to repeat, or had no polls left.',
  MAX_POLLS: 'It has polled as often as it may, without firing at its last poll.',
  DEADLINE: 'Its deadline has passed.',
  CANCELED: 'It was cancelled, by a person or by the model.',
  CONDITION_ERRORS: 'Its condition could not be judged three times in a row.',
  DENIED: 'Its command is not one that may run.',
});

const WatchDue = enumOf<NonNullable<RecordModel['due']>>('WatchDue', 'When a watch is to be polled next.', {
  NOW: 'At once.',
  LATER: 'An interval from then.',
});

const FireReason = enumOf<FireModel['reason']>('FireReason', 'Why a watch has something to say.', {
  CONDITION: 'Its condition holds.',
  CHANGE: 'It has no condition, and its output has changed.',
  MAX_POLLS: 'It has ended: it has polled as often as it may.',
  DEADLINE: 'It has ended: its deadline has passed.',
  CONDITION_ERRORS: 'It has ended: its condition could not be judged three times in a row.',
  DENIED: 'It has ended: its command is not one that may run.',
});

export const WatchDefinition = builder.objectRef<DefinitionModel>('WatchDefinition').implement({
  description: 'What a watch runs, how often, and what it waits for.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description:
        '1 to 60 characters, one line; unique among the watches of the workstream that have not ended.',
    }),
    command: t.exposeString('command', {
      description:
        'Run by `/bin/sh -c` in the workspace of the workstream, without input, for at most 120 s; of its output 64 KiB are read.',
    }),
    condition: t.exposeString('condition', {
      nullable: true,
      description:
        'An expression in CEL that gives a bool, of `output` (text), `data` (the output as JSON, or null), `exit_code` (-1: the ' +
        'command did not end by itself), `prev_output` (text of the poll before, or null while there was none), `changed`, `poll` (1 for the first) and ' +
        '`elapsed` (seconds since the watch was made): it fires when that is true. Null: it fires when the output differs from ' +
        'that of the poll before.',
    }),
    everySeconds: t.exposeInt('everySeconds', {
      description: 'Seconds from one poll to the next, 10 to 86,400.',
    }),
    maxPolls: t.exposeInt('maxPolls', {
      description: 'It ends after so many polls since it was made, 1 to 10,000.',
    }),
    deadline: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'It ends then, whatever polls are left; null: by `maxPolls` alone.',
      resolve: (d) => d.deadline,
    }),
    repeat: t.exposeBoolean('repeat', {
      description: 'True: it goes on after it fired. False: it ends when it fires.',
    }),
    instruction: t.exposeString('instruction', {
      nullable: true,
      description: 'What the model is told to do when it fires; null: nothing but what happened.',
    }),
  }),
});

const definition = { type: WatchDefinition, resolve: (w: RecordModel | FireModel) => w.definition } as const;

export const WatchFacts = builder.interfaceRef<RecordModel>('WatchFacts').implement({
  description:
    'What a workstream has written down about a watch of its own: a command that the server runs again and again, without ' +
    'the model, until its output is such that the model is to hear of it.',
  fields: (t) => ({
    watchId: t.id({
      description: 'Its id within its workstream, as every `watchId` of an input takes it. Never reused.',
      resolve: (w) => w.id,
    }),
    version: t.exposeInt('version', {
      description: 'Of the definition: 1, and 1 more with each edit. `updateWatch` takes the one you saw.',
    }),
    definition: t.field({ ...definition, description: 'What it runs, how often, and what it waits for.' }),
    status: t.field({ type: WatchStatus, description: 'Whether it polls.', resolve: (w) => w.status }),
    pausedBy: t.field({
      type: WatchPause,
      nullable: true,
      description: 'What paused it; null: it is not PAUSED.',
      resolve: (w) => w.pausedBy,
    }),
    end: t.field({
      type: WatchEnd,
      nullable: true,
      description: 'Why it has ended; null: it is not ENDED.',
      resolve: (w) => w.end,
    }),
    author: t.field({
      type: Author,
      description:
        'On whose credentials the turns run that it starts: who made it or approved the call of the model that did, or edited it last.',
      resolve: (w) => w.author,
    }),
    depth: t.exposeInt('depth', {
      description:
        '`Turn.depth` of the turns it starts: 1 when a person made or edited it; 1 more than the turn in which the model ' +
        'made it. Above 5 its fires are written down and start no turn.',
    }),
    createdAt: t.field({ type: 'DateTime', description: 'When it was made.', resolve: (w) => w.createdAt }),
  }),
});

export const WatchRecord = builder.objectRef<RecordModel>('WatchRecord').implement({
  description:
    'A watch as an entry of the journal has it: whole, and as it was then. How its polls go is not in the journal: see `Watch`.',
  interfaces: [WatchFacts],
  fields: (t) => ({
    lastFire: t.exposeInt('lastFire', {
      description: 'Number of the poll whose fire was written down last; 0: none was.',
    }),
    firesTold: t.exposeInt('firesTold', {
      description: 'How often it had fired then, what was left out counted (`Fire.skipped`).',
    }),
    due: t.field({
      type: WatchDue,
      nullable: true,
      description:
        'When it was to be polled next, from this entry on; null: as it was before. The time is `Watch.nextPollAt`.',
      resolve: (w) => w.due,
    }),
  }),
});

export const Fire = builder.objectRef<FireModel>('Fire').implement({
  description:
    'What a watch has said: that its condition holds or its output has changed, or that it has ended without that. It is ' +
    'written down once, and starts a turn, or waits for the end of the one that runs.',
  fields: (t) => ({
    watchId: t.exposeID('watchId', { description: '`WatchFacts.watchId` of the watch.' }),
    poll: t.exposeInt('poll', {
      description:
        'Number of the poll, 1 for the first; of a DEADLINE, which is no poll: of the one that would have been next.',
    }),
    reason: t.field({ type: FireReason, description: 'Why it says it.', resolve: (f) => f.reason }),
    ended: t.exposeBoolean('ended', { description: 'True: the watch has ended with it.' }),
    definition: t.field({ ...definition, description: 'What was run, and waited for, as it was then.' }),
    elapsedSeconds: t.exposeInt('elapsedSeconds', { description: 'Seconds since the watch was made.' }),
    exitCode: t.exposeInt('exitCode', {
      nullable: true,
      description: 'Of the command; null: it did not end by itself, or was not run.',
    }),
    output: t.exposeString('output', {
      description:
        'What the command put out, at most 64 KiB; what it put out when it ran last, where it did not run. Anybody may have written it: show it as text.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description:
        'One sentence: why the command could not run or the condition not be judged; null: nothing was wrong.',
    }),
    author: t.field({
      type: Author,
      description: 'On whose credentials the turn runs that it starts.',
      resolve: (f) => f.author,
    }),
    depth: t.exposeInt('depth', {
      description: '`Turn.depth` of that turn. Above 5 the fire is written down and starts none.',
    }),
    firesBefore: t.exposeInt('firesBefore', { description: 'How often the watch had fired before.' }),
    skipped: t.exposeInt('skipped', {
      description:
        'Fires of the watch right before this one that were left out: of more than 5 that wait together, the first 4 and the last are told. 0: none.',
    }),
  }),
});
