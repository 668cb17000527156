import { storageContract } from '../contracts/storage.ts';
import { createTestClock } from '../support/clock.ts';
import { createMemoryStorage } from '../support/memory-storage.ts';

storageContract(async () => {
  const clock = createTestClock();
  let wentBack = 0;
  const storage = createMemoryStorage({ ...clock, now: () => clock.now() - wentBack });
  return {
    storage,
    expire: async (session) => storage.expire(session.id),
    remove: async (workstreamId) => storage.remove(workstreamId),
    age: async (ids, ms) => {
      for (const id of ids) storage.age(id, ms);
    },
    forgeCreating: async (workstreamId) => storage.forgeCreating(workstreamId),
    passes: async (_, ms) => {
      if (ms < 0) wentBack -= ms;
      else await clock.advance(ms);
    },
    close: () => storage.close(),
  };
});
