import { Migration } from '@mikro-orm/migrations';

/** Fills in what journals and folds of before do not have; what an entry already says wins. */
const configuration = `'{"approvalMode": "ASK", "approvalModeBy": {"id": "", "name": ""}}'::jsonb`;
/** The messages of the queue at `path`, each with a delivery. */
const queued = (path: string) =>
  `(select coalesce(jsonb_agg('{"delivery": "QUEUE", "turnId": null}'::jsonb || message order by place), '[]') from jsonb_array_elements(${path}) with ordinality as waiting (message, place))`;

export class Migration20261130130912_steering extends Migration {
  override name = 'Migration20261130130912_steering';

  override up(): void | Promise<void> {
    this.addSql(`alter table "receipt" add "workstream_id" text null;`);
    // A scope is '<who>/<workstream>', or '<who>' where no workstream was commanded.
    this.addSql(
      `update "receipt" set "workstream_id" = split_part(scope, '/', 2) where position('/' in scope) > 0;`,
    );
    this.addSql(`create index "receipt_latest" on "receipt" ("workstream_id", "created_at" desc);`);

    this.addSql(
      `alter table "queued_message" add "delivery" text not null default 'QUEUE', add "turn_id" text null;`,
    );

    this.addSql(
      `update "workstream" set "projection" = jsonb_set(jsonb_set('{"superseded": []}'::jsonb || projection, '{configuration}', ${configuration} || (projection -> 'configuration')), '{queue,items}', ${queued(`projection #> '{queue,items}'`)});`,
    );
    this.addSql(
      `update "entry" set "payload" = jsonb_set(payload, '{configuration}', ${configuration} || (payload -> 'configuration')) where kind = 'CONFIGURATION';`,
    );
    this.addSql(
      `update "entry" set "payload" = jsonb_set(payload, '{queue,items}', ${queued(`payload #> '{queue,items}'`)}) where kind = 'QUEUE';`,
    );
  }

  // What was filled in stays: an older Weir does not look at it.
  override down(): void | Promise<void> {
    this.addSql(`alter table "queued_message" drop column "delivery", drop column "turn_id";`);

    this.addSql(`drop index "receipt_latest";`);
    this.addSql(`alter table "receipt" drop column "workstream_id";`);
  }
}
