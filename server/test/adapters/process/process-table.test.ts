import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findMarked, signalMarked } from '../../../src/adapters/process/process-table.ts';
import { newCallId } from './support.ts';

describe.runIf(process.platform === 'linux')(
  'a process is known by its start time, not by its pid alone (D-70)',
  () => {
    // Both processes of the pid are one here: the one seen, and, told apart by its start time, the one there was before.
    it.each([true, false])(
      'so one that got the pid of another is spared (owns its group: %s)',
      async (ownsGroup) => {
        const callId = newCallId();
        const child = spawn('/bin/sleep', ['1000'], {
          detached: true,
          stdio: 'ignore',
          env: { WEIR_CALL_ID: callId },
        });
        onTestFinished(() => void child.kill('SIGKILL'));
        await once(child, 'spawn');
        const ended = once(child, 'exit');
        const [found] = await findMarked(new Set([callId]));
        if (found === undefined) throw new Error('it runs');
        expect(found).toMatchObject({ callId, pid: child.pid, group: child.pid });

        const earlier = { ...found, ownsGroup, startedAt: String(Number(found.startedAt) - 1) };
        signalMarked(earlier, 'SIGKILL');
        // Signals arrive in the order they are sent, and SIGKILL before any other: had it been sent, it would be the end.
        signalMarked({ ...found, ownsGroup }, 'SIGTERM');
        expect(await ended).toEqual([null, 'SIGTERM']);
      },
    );
  },
);
