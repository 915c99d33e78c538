import { exactValuesContract } from './exact-values.ts'
import { keyStoreContract } from './key-store.ts'
import { lateLandingContract } from './late-landing.ts'
import { itemLimitsContract } from './item-limits.ts'
import { keptNumbersContract } from './kept-numbers.ts'
import { logImportContract } from './log-import.ts'
import { longImportsContract } from './long-imports.ts'
import { logReaderContract } from './log-reader.ts'
import { logWindowContract } from './log-window.ts'
import { messageFeedbackContract } from './message-feedback.ts'
import { outboxContract } from './outbox.ts'
import { receivedContract } from './received.ts'
import { sessionNamesContract } from './session-names.ts'
import { runInboxResolutionsContract } from './run-inbox-resolutions.ts'
import { runCountsContract } from './run-counts.ts'
import { runInboxCancelContract } from './run-inbox-cancel.ts'
import { runInboxCapsContract } from './run-inbox-caps.ts'
import { runInboxRepeatsContract } from './run-inbox-repeats.ts'
import { runInboxNewestRequestContract } from './run-inbox-newest-request.ts'
import { runInboxReplacementsContract } from './run-inbox-replacements.ts'
import { runInboxContract } from './run-inbox.ts'
import { runLeaseContract } from './run-lease.ts'
import { runLogCallsContract } from './run-log-calls.ts'
import { runLogEndingsContract } from './run-log-endings.ts'
import { runOutputsContract } from './run-outputs.ts'
import { runNoticesContract } from './run-notices.ts'
import { runLogLateWritesContract } from './run-log-late-writes.ts'
import { runLogContract } from './run-log.ts'
import { sessionContextContract } from './session-context.ts'
import { sessionDeletionContract } from './session-deletion.ts'
import { sessionJanitorContract } from './session-janitor.ts'
import { sessionListsContract } from './session-lists.ts'
import { sessionMessagesContract } from './session-messages.ts'
import { sessionStoreContract } from './session-store.ts'
import { sessionTitlesContract } from './session-titles.ts'
import { sourceNumbersContract } from './source-numbers.ts'
import type { Engine } from './stores.ts'
import { usageLedgerContract } from './usage-ledger.ts'

/** Contract of all session ports. An engine that passes can store Tooltrail's sessions. */
export function sessionPortsContract(engine: Engine): void {
  sessionStoreContract(engine)
  sessionTitlesContract(engine)
  sessionMessagesContract(engine)
  sessionListsContract(engine)
  runInboxContract(engine)
  runInboxRepeatsContract(engine)
  runInboxCapsContract(engine)
  runInboxResolutionsContract(engine)
  runInboxNewestRequestContract(engine)
  runInboxReplacementsContract(engine)
  runInboxCancelContract(engine)
  runCountsContract(engine)
  runLeaseContract(engine)
  runLogContract(engine)
  runLogCallsContract(engine)
  runLogEndingsContract(engine)
  runOutputsContract(engine)
  runNoticesContract(engine)
  runLogLateWritesContract(engine)
  lateLandingContract(engine)
  logImportContract(engine)
  longImportsContract(engine)
  keptNumbersContract(engine)
  logReaderContract(engine)
  logWindowContract(engine)
  exactValuesContract(engine)
  sessionContextContract(engine)
  sourceNumbersContract(engine)
  itemLimitsContract(engine)
  sessionJanitorContract(engine)
  sessionDeletionContract(engine)
  outboxContract(engine)
  messageFeedbackContract(engine)
  receivedContract(engine)
  sessionNamesContract(engine)
  keyStoreContract(engine)
  usageLedgerContract(engine)
}
