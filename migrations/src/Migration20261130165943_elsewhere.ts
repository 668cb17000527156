import { Migration } from '@mikro-orm/migrations';

export class Migration20261130165943_elsewhere extends Migration {
  override name = 'Migration20261130165943_elsewhere';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "workstream_deletion" ("workstream_id" text not null, "xid" xid8 not null default pg_current_xact_id(), "at" timestamptz(3) not null default clock_timestamp(), primary key ("workstream_id"));`,
    );
    this.addSql(`create index "workstream_deletion_xid" on "workstream_deletion" ("xid");`);

    this.addSql(`alter table "workstream" add "listed_xid" xid8 not null default pg_current_xact_id();`);
    this.addSql(`create index "workstream_listed_xid" on "workstream" ("listed_xid");`);
    this.addSql(
      `create or replace function "workstream_workstream_listed_fn"() returns trigger as $$ begin if (old.lifecycle, old.state, old.stopping, old.title, old.model, old.quarantine) is distinct from (new.lifecycle, new.state, new.stopping, new.title, new.model, new.quarantine) then new.listed_xid := pg_current_xact_id(); end if; return new; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "workstream_listed" BEFORE UPDATE on "workstream" for each ROW execute function "workstream_workstream_listed_fn"();`,
    );
    this.addSql(
      `create or replace function "workstream_workstream_deleted_fn"() returns trigger as $$ begin if old.lifecycle <> 'CREATING' then insert into workstream_deletion (workstream_id) values (old.id) on conflict (workstream_id) do update set xid = excluded.xid, at = excluded.at; end if; return null; end; $$ language plpgsql;`,
    );
    this.addSql(
      `create trigger "workstream_deleted" AFTER DELETE on "workstream" for each ROW execute function "workstream_workstream_deleted_fn"();`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "workstream_deletion" cascade;`);

    this.addSql(`drop index "workstream_listed_xid";`);
    this.addSql(`drop trigger if exists "workstream_listed" on "workstream";`);
    this.addSql(`drop function if exists "workstream_workstream_listed_fn"();`);
    this.addSql(`drop trigger if exists "workstream_deleted" on "workstream";`);
    this.addSql(`drop function if exists "workstream_workstream_deleted_fn"();`);
    this.addSql(`alter table "workstream" drop column "listed_xid";`);
  }
}
