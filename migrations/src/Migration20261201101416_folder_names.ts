import { Migration } from '@mikro-orm/migrations';

export class Migration20261201101416_folder_names extends Migration {
  override name = 'Migration20261201101416_folder_names';

  override up(): void | Promise<void> {
    this.addSql(`drop index "workstream_workspace_index";`);
    this.addSql(`create index "workstream_folder" on "workstream" (right(workspace, 33));`);
  }

  override down(): void | Promise<void> {
    this.addSql(`drop index "workstream_folder";`);
    this.addSql(`create index "workstream_workspace_index" on "workstream" ("workspace");`);
  }
}
