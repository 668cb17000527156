/** Owns: trying the condition of a watch, on the wire. Nothing is made or changed by it. */
import { builder } from '../builder.ts';
import type { ConditionTrialModel } from '../model/index.ts';
import { enumOf } from './enum.ts';
import { badArgument } from './page.ts';

const Soundness = enumOf<ConditionTrialModel['soundness']>(
  'ConditionSoundness',
  'Whether a condition could be one of a watch.',
  {
    SOUND: 'Its syntax, names and types are right, as far as that can be told before a poll.',
    UNSOUND: 'A watch with it would be refused.',
  },
);

const Verdict = enumOf<NonNullable<ConditionTrialModel['verdict']>>(
  'ConditionVerdict',
  'What a condition says of an output.',
  {
    HOLDS: 'The watch would fire.',
    HOLDS_NOT: 'The watch would not fire.',
    FAILED: 'It cannot be judged by this output; a watch ends after three such polls in a row.',
  },
);

const ConditionTrial = builder.objectRef<ConditionTrialModel>('ConditionTrial').implement({
  description: 'What is to be said about a condition.',
  fields: (t) => ({
    soundness: t.field({
      type: Soundness,
      description: 'Whether it could be one of a watch.',
      resolve: (c) => c.soundness,
    }),
    line: t.exposeInt('line', {
      nullable: true,
      description: 'UNSOUND: the line that is wrong, 1 for the first. Null: SOUND.',
    }),
    column: t.exposeInt('column', {
      nullable: true,
      description:
        'UNSOUND: the place in that line, in UTF-16 code units, 1 for the first. Null: SOUND, or it is about the whole.',
    }),
    verdict: t.field({
      type: Verdict,
      nullable: true,
      description: 'What it says of the output. Null: UNSOUND, or there is no output to judge.',
      resolve: (c) => c.verdict,
    }),
    message: t.exposeString('message', {
      nullable: true,
      description:
        'One sentence: what is wrong, and what to write instead where that is known. Null: neither UNSOUND nor FAILED.',
    }),
  }),
});

/** UTF-16 code units: of a condition, and of an output, which has 64 KiB at most. */
const maxExpression = 4_000;
const maxOutput = 65_536;

const TryWatchConditionInput = builder.inputType('TryWatchConditionInput', {
  description:
    'Which condition, and what to judge by it: the last output of a watch (`watchId`), or a sample (`output`). With neither it ' +
    'is only checked.',
  fields: (t) => ({
    expression: t.string({
      required: true,
      description:
        'As `WatchDefinition.condition`, at most 4,000 characters. Blank: no condition, which holds when the output has changed.',
    }),
    watchId: t.id({
      description:
        '`WatchFacts.watchId` of a watch: it is judged as if the next poll had the output and exit code of the last one, so ' +
        '`changed` is false. Null, or one that was never polled: there is nothing to judge. Not together with `output`.',
    }),
    output: t.string({ description: 'Output to judge, at most 65,536 characters; null: none.' }),
    exitCode: t.int({ description: 'Exit code that comes with `output`; null: 0.' }),
    prevOutput: t.string({
      description:
        'Output of the poll before `output`, at most 65,536 characters; null: it is the first poll.',
    }),
  }),
});

builder.queryField('tryWatchCondition', (t) =>
  t.field({
    type: ConditionTrial,
    description:
      'Tells whether a condition is sound and what it would say now, to show that while it is written. Nothing is run, made or ' +
      'changed. Judging takes at most 200 ms and 64 MB; what takes more has FAILED.',
    args: {
      input: t.arg({ type: TryWatchConditionInput, required: true, description: 'What to try.' }),
    },
    complexity: { field: 50 },
    resolve: (_root, { input }, { services }) => {
      const { expression, watchId, output, exitCode, prevOutput } = input;
      if (expression.length > maxExpression)
        throw badArgument('expression', `A condition may have at most ${maxExpression} characters.`);
      if (watchId != null && output != null)
        throw badArgument('output', 'Give `watchId` or `output`, not both.');
      if (output == null && (exitCode != null || prevOutput != null))
        throw badArgument('output', '`exitCode` and `prevOutput` come with an `output`.');
      if ((output?.length ?? 0) > maxOutput || (prevOutput?.length ?? 0) > maxOutput)
        throw badArgument('output', `An output may have at most ${maxOutput} characters.`);
      return services.watches.tryCondition({
        expression,
        watchId: watchId ?? null,
        sample: output == null ? null : { output, exitCode: exitCode ?? 0, prevOutput: prevOutput ?? null },
      });
    },
  }),
);
