/** Every table of Weir, for the ORM. */
import { AccessTokenRow, LoginCodeRow } from './access.ts';
import { ApprovalCycleRow, ApprovalItemRow } from './approval.ts';
import { EntryRow } from './entry.ts';
import { LeftFolderRow } from './left-folder.ts';
import { ModelCallRow, UsageDayRow } from './model-call.ts';
import { NodeSessionRow } from './node-session.ts';
import { QueuedMessageRow } from './queued-message.ts';
import { ReceiptRow } from './receipt.ts';
import { TurnRow } from './turn.ts';
import { WatchDeliveryRow, WatchPollRow, WatchRow } from './watch.ts';
import { WorkstreamDeletionRow } from './workstream-deletion.ts';
import { WorkstreamRow } from './workstream.ts';

export const entities = [
  NodeSessionRow,
  WorkstreamRow,
  WorkstreamDeletionRow,
  LeftFolderRow,
  EntryRow,
  TurnRow,
  ApprovalCycleRow,
  ApprovalItemRow,
  QueuedMessageRow,
  ReceiptRow,
  ModelCallRow,
  UsageDayRow,
  WatchRow,
  WatchPollRow,
  WatchDeliveryRow,
  AccessTokenRow,
  LoginCodeRow,
];
