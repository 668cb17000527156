import { Migration } from '@mikro-orm/migrations';

export class Migration20261130231859_folder_notes extends Migration {
  override name = 'Migration20261130231859_folder_notes';

  override up(): void | Promise<void> {
    this.addSql(`drop trigger if exists "workstream_deleted" on "workstream";`);
    this.addSql(`drop function if exists "workstream_workstream_deleted_fn"();`);
    this.addSql(
      `create or replace function "workstream_workstream_deleted_fn"() returns trigger as $$ begin if old.lifecycle <> 'CREATING' then insert into workstream_deletion (workstream_id) values (old.id) on conflict (workstream_id) do update set xid = excluded.xid, at = excluded.at; end if; if old.workspace ~ '/[0-9a-f]{32}$' then insert into left_folder (path) values (old.workspace) on conflict (path) do update set at = excluded.at; end if; return null; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "workstream_deleted" AFTER DELETE on "workstream" for each ROW execute function "workstream_workstream_deleted_fn"();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop trigger if exists "workstream_deleted" on "workstream";`);
    this.addSql(`drop function if exists "workstream_workstream_deleted_fn"();`);
    this.addSql(
      `create or replace function "workstream_workstream_deleted_fn"() returns trigger as $$ begin if old.lifecycle <> 'CREATING' then insert into workstream_deletion (workstream_id) values (old.id) on conflict (workstream_id) do update set xid = excluded.xid, at = excluded.at; end if; if old.workspace ~ '/[0-9a-f]{32}$' then insert into left_folder (path) values (old.workspace) on conflict (path) do nothing; end if; return null; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "workstream_deleted" AFTER DELETE on "workstream" for each ROW execute function "workstream_workstream_deleted_fn"();`,
    );
  }
}
