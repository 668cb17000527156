import { Migration } from '@mikro-orm/migrations';

/**
 * Adds what model calls cost, and fills in what folds and journals of before do not have: how many tokens the model is
 * told of an entry, guessed from its length, and of all of them. Entries are many and long, so they are changed few at a
 * time, none of the statements long.
 */
export class Migration20261130195033_usage extends Migration {
  override name = 'Migration20261130195033_usage';

  override async up(): Promise<void> {
    await this.execute(
      `create table "model_call" ("id" text not null, "workstream_id" text not null, "turn_id" text null, "purpose" text not null, "alias" text not null, "model" text not null, "input_tokens" bigint not null, "output_tokens" bigint not null, "cached_input_tokens" bigint null, "reasoning_tokens" bigint null, "estimated" boolean not null, "outcome" text not null, "cost" numeric null, "at" timestamptz(3) not null, primary key ("id"))`,
    );
    await this.execute(`create index "model_call_latest" on "model_call" ("workstream_id", "at", "id")`);
    await this.execute(`create index "model_call_turn" on "model_call" ("workstream_id", "turn_id")`);

    await this.execute(
      `create table "usage_day" ("workstream_id" text not null, "day" date not null, "alias" text not null, "calls" bigint not null, "estimated_calls" bigint not null, "input_tokens" bigint not null, "output_tokens" bigint not null, "cached_input_tokens" bigint not null, "reasoning_tokens" bigint not null, "cost" numeric null, primary key ("workstream_id", "day", "alias"))`,
    );
    await this.execute(`create index "usage_day_day" on "usage_day" ("day")`);

    await this.execute(`alter table "workstream" add "spent" bigint not null default '0'`);
    await this.execute(`alter table "approval_cycle" add "budget" jsonb null`);
    await this.execute(
      `create index "entry_cut" on "entry" ("workstream_id", "revision") where kind in ('CHECKPOINT', 'REWIND')`,
    );

    await this.execute(
      `update "workstream" set "projection" = '{"context": {"told": 0, "counted": null, "scale": 1, "overhead": 0, "window": null, "advised": false, "tried": null, "failures": 0}, "checkpoint": null, "budgetLimit": null}'::jsonb || projection`,
    );
    for (let last: Place | undefined = { workstream: '', revision: '0' }; last;) {
      const page = (await this.execute(entriesBehind, [last.workstream, last.revision])) as Place[];
      last = page.at(-1);
    }
  }

  // What was filled in stays: an older Weir does not look at it.
  override down(): void | Promise<void> {
    this.addSql(`drop table if exists "model_call" cascade;`);
    this.addSql(`drop table if exists "usage_day" cascade;`);

    this.addSql(`alter table "approval_cycle" drop column "budget";`);

    this.addSql(`drop index "entry_cut";`);

    this.addSql(`alter table "workstream" drop column "spent";`);
  }
}

interface Place {
  readonly workstream: string;
  readonly revision: string;
}

/** About four bytes are a token, and four tokens stand around each message and call. */
const bytes = `octet_length(coalesce(e.payload ->> 'content', e.payload ->> 'text', ''))
  + coalesce((select sum(16 + octet_length(call ->> 'name') + octet_length(call ->> 'arguments')) from jsonb_array_elements(e.payload -> 'calls') call), 0)`;

const entriesBehind = `
  with page as (
    select e.workstream_id, e.revision, 4 + ceil((${bytes}) / 4.0)::bigint as tokens
    from entry e
    where e.kind in ('USER', 'ASSISTANT', 'TOOL', 'SYSTEM', 'CANCELLATION') and (e.workstream_id, e.revision) > (?, ?::bigint)
    order by e.workstream_id, e.revision limit 100),
  filled as (
    update entry e set payload = e.payload || jsonb_build_object('tokens', page.tokens)
    from page where e.workstream_id = page.workstream_id and e.revision = page.revision),
  told as (
    select w.id, sum(page.tokens) as tokens
    from page join workstream w on w.id = page.workstream_id
    where not exists (select from jsonb_to_recordset(w.projection -> 'superseded') as span ("after" bigint, "through" bigint)
      where page.revision > span."after" and page.revision <= span."through")
    group by w.id),
  summed as (
    update workstream w set projection = jsonb_set(w.projection, '{context,told}', to_jsonb((w.projection #>> '{context,told}')::bigint + told.tokens))
    from told where told.id = w.id)
  select workstream_id as workstream, revision::text as revision from page order by page.workstream_id, page.revision`;
