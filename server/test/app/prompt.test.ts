/** Owns: the system prompt: which parts it has and in which order, so that a provider can cache its beginning (D-36). */
import { describe, expect, it } from 'vitest';
import { createPrompt } from '../../src/app/actor/prompt.ts';
import { maxGuidance } from '../../src/core/conversation/system-prompt.ts';
import { createTestClock } from '../support/clock.ts';
import { ada, createWorld, newKey, unchanged, until } from './support/world.ts';

const hourMs = 3_600_000;

function world(parts: { operator?: string; agents?: string } = {}) {
  const clock = createTestClock();
  const prompt = createPrompt({
    clock,
    guidance: {
      ofServer: () => parts.operator ?? null,
      ofWorkspace: (workspace) => Promise.resolve(workspace === '/work' ? (parts.agents ?? null) : null),
    },
  });
  return { clock, prompt };
}

describe('The system prompt', () => {
  it('says who it is for, what the operator wants, the folder, its AGENTS.md, the instructions and the hour, in this order', async () => {
    const { prompt } = world({ operator: 'Write no poems.', agents: 'Run make test.' });
    const text = await prompt('/work', 'Answer in French.');
    const places = [
      'through Weir',
      'Write no poems.',
      'the folder /work',
      'Run make test.',
      'Answer in French.',
      'to the hour',
    ].map((part) => text.indexOf(part));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it('leaves out what there is not, or is blank', async () => {
    const { prompt } = world({ operator: '  \n' });
    const text = await prompt('/elsewhere', null);
    expect(text).not.toContain('operator');
    expect(text).not.toContain('AGENTS.md');
    expect(text).not.toContain('<<<');
  });

  it('stays the same within an hour, and in the next one up to the hour', async () => {
    const { clock, prompt } = world({ agents: 'Run make test.' });
    await clock.advance(hourMs - (clock.now() % hourMs));
    const first = await prompt('/work', null);
    await clock.advance(hourMs - 1);
    expect(await prompt('/work', null)).toBe(first);
    await clock.advance(1);
    const next = await prompt('/work', null);
    expect(next).not.toBe(first);
    const stable = first.slice(0, first.indexOf('It is '));
    expect(next.startsWith(stable)).toBe(true);
  });

  it('tells a long AGENTS.md up to a bound, and says where the rest is', async () => {
    const { prompt } = world({ agents: 'x'.repeat(maxGuidance + 5) });
    const text = await prompt('/work', null);
    expect(text).toContain('x'.repeat(maxGuidance));
    expect(text).not.toContain('x'.repeat(maxGuidance + 1));
    expect(text).toContain('The rest, 5 characters, is left out here; read the file for it.');
  });
});

describe('What the model is told first', () => {
  it('is the prompt that is shown, with the folder’s AGENTS.md and the instructions as they are at each call (broke: only what all are told was)', async () => {
    let agents = 'Run make test.';
    const world = await createWorld({
      guidance: { ofServer: () => 'Write no poems.', ofWorkspace: () => Promise.resolve(agents) },
    });
    const id = await world.open();
    const told = (n: number) => world.model.calls[n]!.request.messages[0]!;
    await world.send(id, 'go');
    (await until(() => world.model.calls[0])).answer();
    expect(told(0).role).toBe('system');
    expect(told(0).text).toContain('Write no poems.');
    expect(told(0).text).toContain('Run make test.');
    const { configuration } = world.registry.peek(id)!.state().projection;
    expect(await world.services.workstreams.systemPrompt(configuration)).toBe(told(0).text);

    await until(() => world.registry.peek(id)!.state().projection.turn?.phase === 'COMPLETED');
    agents = 'Run pnpm test.';
    const settings = { ...unchanged, instructions: 'Answer in French.' };
    await world.services.workstreams.configure(ada, { key: newKey(), workstreamId: id, ...settings });
    const before = world.model.calls.length;
    await world.send(id, 'again');
    await until(() => world.model.calls[before]);
    expect(told(before).text).toContain('Run pnpm test.');
    expect(told(before).text).toContain('Answer in French.');
    expect(told(before).text).not.toContain('make');
  });
});
