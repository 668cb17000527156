import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isRunning, newCallId, pidIn, processes, start } from './support.ts';

/** A process of a server that is gone: in a group of its own, marked or not. */
async function orphan(
  script: string,
  callId: string | null,
  session: string | null = null,
): Promise<{ child: ChildProcess; output: string }> {
  const child = spawn('/bin/sh', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      PATH: process.env['PATH'],
      ...(callId !== null && { WEIR_CALL_ID: callId }),
      ...(session !== null && { WEIR_SESSION: session }),
    },
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // Gone, as it should be.
    }
  });
  const [output] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, output: output.toString() };
}

describe.runIf(process.platform === 'linux')('what an earlier server left running (D-70)', () => {
  it('is found by its marker and ended with its group, children without the marker included', async () => {
    const callId = newCallId();
    const { child, output } = await orphan(
      `trap '' TERM; env -i sh -c 'trap "" TERM; while :; do sleep 1; done' & echo "child=$!"; while :; do sleep 1; done`,
      callId,
    );
    expect(await processes.endLeftovers({ callIds: [newCallId(), callId] })).toEqual([callId]);
    expect(isRunning(child.pid as number)).toBe(false);
    expect(isRunning(pidIn(output, 'child'))).toBe(false);
  });

  it('is found when it left its group', async () => {
    const callId = newCallId();
    const { output } = await orphan(
      `setsid sh -c 'echo "left=$$"; while :; do sleep 1; done' & sleep 1000`,
      callId,
    );
    expect(await processes.endLeftovers({ callIds: [callId] })).toEqual([callId]);
    expect(isRunning(pidIn(output, 'left'))).toBe(false);
  });

  it('is spared without a marker, or with the marker of another call', async () => {
    const callId = newCallId();
    const unmarked = await orphan('echo ready; exec sleep 1000', null);
    const other = await orphan('echo ready; exec sleep 1000', newCallId());
    const longer = await orphan('echo ready; exec sleep 1000', `${callId}0`);
    expect(await processes.endLeftovers({ callIds: [callId] })).toEqual([]);
    for (const { child } of [unmarked, other, longer]) expect(isRunning(child.pid as number)).toBe(true);
  });

  it('is found by the session that started it, with all of its call, and no other session is touched', async () => {
    const [dead, living] = [newCallId(), newCallId()];
    const { child, output } = await orphan(
      `trap '' TERM; setsid env -u WEIR_SESSION sh -c 'echo "left=$$"; while :; do sleep 1; done' & sleep 1000; sleep 1000`,
      newCallId(),
      dead,
    );
    const other = await orphan('echo ready; exec sleep 1000', newCallId(), living);
    expect(await processes.sessions()).toEqual(expect.arrayContaining([dead, living]));
    expect(await processes.endLeftovers({ sessions: [dead] })).toHaveLength(1);
    for (const pid of [child.pid as number, pidIn(output, 'left')]) expect(isRunning(pid)).toBe(false);
    expect(isRunning(other.child.pid as number)).toBe(true);
    expect(await processes.sessions()).not.toContain(dead);
  });

  it('of the same group as the server is spared with its group: the server never ends itself', async () => {
    const callId = newCallId();
    const child = spawn('/bin/sleep', ['1000'], { stdio: 'ignore', env: { WEIR_CALL_ID: callId } });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'spawn');
    expect(await processes.endLeftovers({ callIds: [callId] })).toEqual([callId]);
    // The process itself carries the marker and is ended; we, of its group, are here to tell.
    expect(isRunning(child.pid as number)).toBe(false);
  });

  it('is nothing when nothing runs', async () => {
    const running = start('echo done');
    await running.result;
    expect(await processes.endLeftovers({ callIds: [running.callId] })).toEqual([]);
    expect(await processes.endLeftovers({})).toEqual([]);
  });
});
