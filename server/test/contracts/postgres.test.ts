import { createDatabase } from '../support/database.ts';
import { storageContract } from './storage.ts';

storageContract(async () => {
  const database = await createDatabase();
  return {
    storage: await database.openStorage(),
    expire: async (session) => {
      await database.sql(
        `update node_session set expires_at = now() - interval '1 millisecond' where id = $1`,
        [session.id],
      );
    },
    remove: async (workstreamId) => {
      await database.sql('delete from workstream where id = $1', [workstreamId]);
    },
    age: async (workstreamIds, ms) => {
      await database.sql(
        `update workstream set created_at = now() - $2 * interval '1 millisecond',
           updated_at = now() - $2 * interval '1 millisecond' where id = any($1)`,
        [workstreamIds, ms],
      );
    },
    forgeCreating: async (workstreamId) => {
      await database.sql(`update workstream set lifecycle = 'CREATING' where id = $1`, [workstreamId]);
    },
    passes: async (watchIds, ms) => {
      await database.sql(
        `update watch set next_poll_at = next_poll_at - $2 * interval '1 millisecond',
           lease_until = lease_until - $2 * interval '1 millisecond', deadline = deadline - $2 * interval '1 millisecond'
         where id = any($1)`,
        [watchIds, ms],
      );
      await database.sql(
        `update watch_delivery set at = at - $2 * interval '1 millisecond' where watch_id = any($1)`,
        [watchIds, ms],
      );
    },
    close: () => database.drop(),
  };
});
