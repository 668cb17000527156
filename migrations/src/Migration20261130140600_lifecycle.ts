import { Migration } from '@mikro-orm/migrations';

/** Fills in what journals and folds of before do not have; what an entry already says wins. */
const named = (configuration: string) =>
  `jsonb_build_object('titleSource', case when ${configuration} ->> 'title' in ('', 'New workstream') then 'DEFAULT' else 'PERSON' end) || (${configuration})`;

export class Migration20261130140600_lifecycle extends Migration {
  override name = 'Migration20261130140600_lifecycle';

  override up(): void | Promise<void> {
    this.addSql(
      `create index "workstream_lifecycle_listing" on "workstream" ("lifecycle", "created_at" desc, "id" desc);`,
    );

    this.addSql(
      `update "workstream" set "projection" = jsonb_set('{"origin": null}'::jsonb || projection, '{configuration}', ${named(`projection -> 'configuration'`)});`,
    );
    this.addSql(
      `update "entry" set "payload" = jsonb_set(payload, '{configuration}', ${named(`payload -> 'configuration'`)}) where kind = 'CONFIGURATION';`,
    );
    this.addSql(`update "entry" set "payload" = '{"by": null}'::jsonb || payload where kind = 'LIFECYCLE';`);
  }

  // What was filled in stays: an older Weir does not look at it.
  override down(): void | Promise<void> {
    this.addSql(`drop index "workstream_lifecycle_listing";`);
  }
}
