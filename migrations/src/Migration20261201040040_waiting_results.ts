/** What older builds cannot read is written from here on: they refuse a database in which they do not know this one. */
import { Migration } from '@mikro-orm/migrations';

export class Migration20261201040040_waiting_results extends Migration {
  override name = 'Migration20261201040040_waiting_results';

  override up(): void | Promise<void> {
    this.addSql(
      `comment on column "workstream"."projection" is 'The fold at the head, without what results of its open batch say';`,
    );
  }

  override down(): void | Promise<void> {
    this.addSql(`comment on column "workstream"."projection" is null;`);
  }
}
