import type { Intent, Outcome } from 'schema/client-kit';
import { expect, it } from 'vitest';
import { Action } from './action.svelte.ts';

const refusal = (field: string | null): Outcome<never> =>
  ({ type: 'Rejected', code: 'INVALID_INPUT', message: 'It cannot be.', field }) as Outcome<never>;
const refused = async (field: string | null): Promise<Action<object, never>> => {
  const intent = { run: () => Promise.resolve(refusal(field)) } as unknown as Intent<never>;
  const action = new Action<object, never>(() => intent, { signedOut: () => undefined });
  await action.run({});
  expect(action.problem).toMatchObject({ message: 'It cannot be.', field });
  return action;
};
const writtenIn = (name: string) => ({ target: Object.assign(new EventTarget(), { name }) });

it('says what was wrong with a field until somebody writes there (broke: until the next answer of the server)', async () => {
  const action = await refused('workspace');
  action.edited(writtenIn('title'));
  action.edited({ target: new EventTarget() });
  action.edited({ target: null });
  expect(action.problem).not.toBeNull();
  action.edited(writtenIn('workspace'));
  expect(action.problem).toBeNull();
});

it('says what no field is to blame for whatever is written', async () => {
  const action = await refused(null);
  action.edited(writtenIn('workspace'));
  action.edited({ target: new EventTarget() });
  expect(action.problem).not.toBeNull();
});
