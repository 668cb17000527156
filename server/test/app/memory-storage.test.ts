import { storageContract } from '../contracts/storage.ts';
import { createTestClock } from '../support/clock.ts';
import { createMemoryStorage } from '../support/memory-storage.ts';

storageContract(async () => {
  const storage = createMemoryStorage(createTestClock());
  return {
    storage,
    expire: async (session) => storage.expire(session.id),
    remove: async (workstreamId) => storage.remove(workstreamId),
    age: async (ids, ms) => {
      for (const id of ids) storage.age(id, ms);
    },
    forgeCreating: async (workstreamId) => storage.forgeCreating(workstreamId),
    close: () => storage.close(),
  };
});
