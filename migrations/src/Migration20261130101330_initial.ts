import { Migration } from '@mikro-orm/migrations';

export class Migration20261130101330_initial extends Migration {
  override name = 'Migration20261130101330_initial';

  override up(): void | Promise<void> {
    this.addSql(
      `create table "access_token" ("id" text not null, "name" text not null, "hash" text not null, "created_at" timestamptz(3) not null, "last_used_at" timestamptz(3) null, "revoked_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`alter table "access_token" add constraint "access_token_hash_unique" unique ("hash");`);

    this.addSql(
      `create table "login_code" ("hash" text not null, "expires_at" timestamptz(3) not null, "used_at" timestamptz(3) null, primary key ("hash"));`,
    );

    this.addSql(
      `create table "node_session" ("id" text not null, "node_id" text not null, "host" text not null, "started_at" timestamptz(3) not null, "heartbeat_at" timestamptz(3) not null, "expires_at" timestamptz(3) not null, "ended_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "node_session_node_id_index" on "node_session" ("node_id");`);

    this.addSql(
      `create table "receipt" ("scope" text not null, "key" text not null, "input_hash" text not null, "outcome" jsonb not null, "created_at" timestamptz(3) not null, primary key ("scope", "key"));`,
    );
    this.addSql(`create index "receipt_created_at_index" on "receipt" ("created_at");`);

    this.addSql(
      `create table "workstream" ("id" text not null, "incarnation" text not null, "lifecycle" text not null, "epoch" bigint not null, "owner_session_id" text null, "revision" bigint not null, "generation" bigint not null, "projection" jsonb not null, "state" text not null, "title" text not null, "model" text not null, "workspace" text not null, "stopping" boolean not null, "failed_loads" int not null, "quarantine" text null, "created_at" timestamptz(3) not null, "updated_at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "workstream_listing" on "workstream" ("created_at" desc, "id" desc) where lifecycle <> 'CREATING';`,
    );
    this.addSql(`create index "workstream_owner_session_id_index" on "workstream" ("owner_session_id");`);

    this.addSql(
      `create table "turn" ("id" text not null, "workstream_id" text not null, "kind" text not null, "phase" text not null, "generation" bigint not null, "principal_id" text not null, "principal_name" text not null, "outcome" text null, "outcome_reason" text null, "outcome_message" text null, "recoveries" int not null, "started_at" timestamptz(3) not null, "settled_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "turn_workstream_id_index" on "turn" ("workstream_id");`);
    this.addSql(`create unique index "turn_one_live" on "turn" ("workstream_id") where outcome is null;`);

    this.addSql(
      `create table "queued_message" ("id" text not null, "workstream_id" text not null, "position" int not null, "text" text not null, "author_id" text not null, "author_name" text not null, "after_stop" boolean not null, "at" timestamptz(3) not null, primary key ("id"));`,
    );
    this.addSql(
      `create index "queued_message_workstream_id_position_index" on "queued_message" ("workstream_id", "position");`,
    );

    this.addSql(
      `create table "entry" ("workstream_id" text not null, "revision" bigint not null, "id" text not null, "kind" text not null, "epoch" bigint not null, "generation" bigint not null, "lane" text null, "turn_id" text null, "commit_key" text not null, "payload" jsonb not null, "at" timestamptz(3) not null, primary key ("workstream_id", "revision"));`,
    );
    this.addSql(`create index "entry_epoch" on "entry" ("workstream_id", "epoch", "revision");`);
    this.addSql(
      `create index "entry_conversation" on "entry" ("workstream_id", "revision") where kind in ('USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION');`,
    );
    this.addSql(`alter table "entry" add constraint "entry_id_unique" unique ("id");`);
    this.addSql(
      `alter table "entry" add constraint "entry_commit_key_unique" unique ("workstream_id", "commit_key");`,
    );

    this.addSql(
      `create table "approval_cycle" ("id" text not null, "workstream_id" text not null, "kind" text not null, "turn_id" text not null, "status" text not null, "opened_at" timestamptz(3) not null, "closed_at" timestamptz(3) null, primary key ("id"));`,
    );
    this.addSql(`create index "approval_cycle_workstream_id_index" on "approval_cycle" ("workstream_id");`);
    this.addSql(`create index "approval_cycle_turn_id_index" on "approval_cycle" ("turn_id");`);
    this.addSql(
      `create index "approval_cycle_open" on "approval_cycle" ("opened_at" desc, "id" desc) where status = 'OPEN';`,
    );

    this.addSql(
      `create table "approval_item" ("cycle_id" text not null, "call_id" text not null, "position" int not null, "name" text not null, "arguments" text not null, "arguments_hash" text not null, "preview" jsonb not null, "basis" text null, "verdict" text null, "source" text null, "decided_by_id" text null, "decided_by_name" text null, "feedback" text null, "decided_at" timestamptz(3) null, primary key ("cycle_id", "call_id"));`,
    );

    this.addSql(
      `alter table "workstream" add constraint "workstream_owner_session_id_foreign" foreign key ("owner_session_id") references "node_session" ("id") on delete set null;`,
    );
    this.addSql(
      `alter table "workstream" add constraint "workstream_lifecycle_known" check (lifecycle in ('CREATING', 'OPEN', 'CLOSED'));`,
    );

    this.addSql(
      `alter table "turn" add constraint "turn_workstream_id_foreign" foreign key ("workstream_id") references "workstream" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "queued_message" add constraint "queued_message_workstream_id_foreign" foreign key ("workstream_id") references "workstream" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "entry" add constraint "entry_workstream_id_foreign" foreign key ("workstream_id") references "workstream" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "approval_cycle" add constraint "approval_cycle_workstream_id_foreign" foreign key ("workstream_id") references "workstream" ("id") on delete cascade;`,
    );

    this.addSql(
      `alter table "approval_item" add constraint "approval_item_cycle_id_foreign" foreign key ("cycle_id") references "approval_cycle" ("id") on delete cascade;`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`alter table "workstream" drop constraint "workstream_owner_session_id_foreign";`);
    this.addSql(`alter table "turn" drop constraint "turn_workstream_id_foreign";`);
    this.addSql(`alter table "queued_message" drop constraint "queued_message_workstream_id_foreign";`);
    this.addSql(`alter table "entry" drop constraint "entry_workstream_id_foreign";`);
    this.addSql(`alter table "approval_cycle" drop constraint "approval_cycle_workstream_id_foreign";`);
    this.addSql(`alter table "approval_item" drop constraint "approval_item_cycle_id_foreign";`);

    this.addSql(`drop table if exists "access_token" cascade;`);
    this.addSql(`drop table if exists "login_code" cascade;`);
    this.addSql(`drop table if exists "node_session" cascade;`);
    this.addSql(`drop table if exists "receipt" cascade;`);
    this.addSql(`drop table if exists "workstream" cascade;`);
    this.addSql(`drop table if exists "turn" cascade;`);
    this.addSql(`drop table if exists "queued_message" cascade;`);
    this.addSql(`drop table if exists "entry" cascade;`);
    this.addSql(`drop table if exists "approval_cycle" cascade;`);
    this.addSql(`drop table if exists "approval_item" cascade;`);
  }
}
