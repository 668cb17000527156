import { Migration } from '@mikro-orm/migrations';

/** Adds watches, and fills in what folds and rows of before do not have: no watches, and where a workstream is run. */
export class Migration20261130234000_watches extends Migration {
  override name = 'Migration20261130234000_watches';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "watch" ("id" text not null, "workstream_id" text not null, "host" text null, "slot" smallint null, "name" text not null, "version" int not null, "status" text not null, "every_seconds" int not null, "deadline" timestamptz(3) null, "watch" jsonb not null, "created_at" timestamptz(3) not null, "next_poll_at" timestamptz(3) null, "claim" text null, "claimed_by" text null, "lease_until" timestamptz(3) null, "claim_canceled" boolean not null default false, "polls" int not null, "fires" int not null, "errors" int not null, "last_poll_at" timestamptz(3) null, "last_exit_code" int null, "last_output" text null, "last_error" text null, primary key ("id"));`,
    );
    this.addSql(
      `create index "watch_due" on "watch" ("host", "next_poll_at", "id") where next_poll_at is not null;`,
    );
    this.addSql(
      `create index "watch_latest" on "watch" ("created_at" desc, "id" desc) where slot is not null;`,
    );
    this.addSql(`create index "watch_latest_or_ended" on "watch" ("created_at" desc, "id" desc);`);
    this.addSql(
      `create index "watch_latest_of_workstream" on "watch" ("workstream_id", "created_at" desc, "id" desc);`,
    );
    this.addSql(
      `create unique index "watch_name_unique" on "watch" ("workstream_id", "name") where slot is not null;`,
    );
    this.addSql(
      `create unique index "watch_slot_unique" on "watch" ("workstream_id", "slot") where slot is not null;`,
    );

    this.addSql(
      `create table "watch_poll" ("watch_id" text not null, "poll" int not null, "at" timestamptz(3) not null, "duration_ms" bigint not null, "exit_code" int null, "fired" boolean not null, "error" text null, "output_tail" text not null, primary key ("watch_id", "poll"));`,
    );

    this.addSql(
      `create table "watch_delivery" ("watch_id" text not null, "poll" int not null, "workstream_id" text not null, "fire" jsonb not null, "at" timestamptz(3) not null, primary key ("watch_id", "poll"));`,
    );
    this.addSql(
      `create index "watch_delivery_of_workstream" on "watch_delivery" ("workstream_id", "poll", "watch_id");`,
    );

    // Each poll changes a row twice; the first change, which no index has, stays in its page.
    this.addSql(`alter table "watch" set (fillfactor = 50);`);

    this.addSql(`alter table "workstream" add "host" text null;`);
    this.addSql(
      `update "workstream" w set "projection" = '{"watches": []}'::jsonb || w.projection, "host" = (select s.host from node_session s where s.id = w.owner_session_id);`,
    );

    this.addSql(
      `alter table "watch" add constraint "watch_workstream_id_foreign" foreign key ("workstream_id") references "workstream" ("id") on delete cascade;`,
    );
    this.addSql(`alter table "watch" add constraint "watch_slot_known" check (slot >= 1 and slot <= 5);`);
    this.addSql(
      `alter table "watch" add constraint "watch_slot_held" check ((status = 'ENDED') = (slot is null));`,
    );
    this.addSql(
      `alter table "watch" add constraint "watch_rests" check (status = 'ACTIVE' or next_poll_at is null);`,
    );

    this.addSql(
      `alter table "watch_poll" add constraint "watch_poll_watch_id_foreign" foreign key ("watch_id") references "watch" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "watch_delivery" add constraint "watch_delivery_watch_id_foreign" foreign key ("watch_id") references "watch" ("id") on delete cascade;`,
    );
  }

  // What was filled in stays: an older Weir does not look at it.
  override down(): void | Promise<void> {
    this.addSql(`alter table "watch_poll" drop constraint "watch_poll_watch_id_foreign";`);
    this.addSql(`alter table "watch_delivery" drop constraint "watch_delivery_watch_id_foreign";`);

    this.addSql(`drop table if exists "watch" cascade;`);
    this.addSql(`drop table if exists "watch_poll" cascade;`);
    this.addSql(`drop table if exists "watch_delivery" cascade;`);

    this.addSql(`alter table "workstream" drop column "host";`);
  }
}
