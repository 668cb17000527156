/**
 * A process that owns a data folder, for tests that need one to kill. `node owner-process.ts <data folder>` says in
 * one JSON line each what came of opening, and of `work` and `stop` lines on its input. It ignores SIGINT.
 */
import { createInterface } from 'node:readline';
import { openStorage } from '../../../src/adapters/storage/index.ts';

const say = (fact: object): void => void process.stdout.write(`${JSON.stringify(fact)}\n`);

process.on('SIGINT', () => say({ type: 'interrupted' }));
const outcome = await openStorage({ dataDir: process.argv[2]!, fsync: false });
if (outcome.type === 'refused') {
  say(outcome);
  process.exit(0);
}
const { storage } = outcome;
const parentThere = createInterface({ input: process.stdin });
parentThere.on('line', (line) => {
  if (line === 'work')
    void storage.tokens.list().then(
      () => say({ type: 'worked' }),
      (e: Error) => say({ type: e.name }),
    );
  if (line === 'stop') void storage.close().then(() => process.exit(0));
});
parentThere.on('close', () => process.exit(1));
say({ type: 'opened' });
