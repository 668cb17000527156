/** Owns: the system prompt as it is now, put together from where its parts are kept. */
import { systemPrompt } from '../../core/conversation/system-prompt.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Guidance } from '../../ports/guidance.ts';

/** What a model would be told first in a workspace, with the instructions of a workstream. Never rejects. */
export type Prompt = (workspace: string, instructions: string | null) => Promise<string>;

export const createPrompt =
  ({ guidance, clock }: { readonly guidance: Guidance; readonly clock: Clock }): Prompt =>
  async (workspace, instructions) =>
    systemPrompt({
      workspace,
      operator: guidance.ofServer(),
      agents: await guidance.ofWorkspace(workspace),
      instructions,
      now: clock.now(),
    });
