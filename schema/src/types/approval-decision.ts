/** Owns: one decision about one call. */
import { builder } from '../builder.ts';
import type { ApprovalDecision as DecisionModel } from '../projection/index.ts';
import { Author } from './author.ts';
import { enumOf } from './enum.ts';

export const ApprovalVerdict = enumOf<DecisionModel['verdict']>(
  'ApprovalVerdict',
  'Whether a call may run.',
  {
    APPROVED: 'It runs, with exactly the arguments that were shown.',
    DENIED: 'It does not run; the model is told so.',
  },
);

const DecisionSource = enumOf<DecisionModel['source']>('DecisionSource', 'What decided.', {
  PERSON: 'A person, by `decideApproval`.',
  TRUST_WORKSPACE:
    'The mode TRUST_WORKSPACE, which the workstream had when the call was prepared: nobody was asked.',
  TRUST_ALL: 'The mode TRUST_ALL, which the workstream had when the call was prepared: nobody was asked.',
});

export const ApprovalDecision = builder.objectRef<DecisionModel>('ApprovalDecision').implement({
  description: 'What was decided about one call. The first decision stands.',
  fields: (t) => ({
    verdict: t.field({
      type: ApprovalVerdict,
      description: 'Whether the call may run.',
      resolve: (d) => d.verdict,
    }),
    source: t.field({ type: DecisionSource, description: 'What decided.', resolve: (d) => d.source }),
    by: t.field({
      type: Author,
      description: 'Who decided, or who had set the mode that did.',
      resolve: (d) => d.by,
    }),
    feedback: t.exposeString('feedback', {
      nullable: true,
      description:
        'What the decider wants the model to know, at most 10,000 characters; null when nothing, as always for a mode.',
    }),
    at: t.field({ type: 'DateTime', description: 'When it was decided.', resolve: (d) => d.at }),
  }),
});
