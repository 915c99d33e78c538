import { keyStoreContract } from './key-store.ts'
import { logReaderContract } from './log-reader.ts'
import { runInboxAnswersContract } from './run-inbox-resolutions.ts'
import { runCountsContract } from './run-counts.ts'
import { runInboxCancelContract } from './run-inbox-cancel.ts'
import { runInboxCapsContract } from './run-inbox-caps.ts'
import { runInboxRepeatsContract } from './run-inbox-repeats.ts'
import { runInboxContract } from './run-inbox.ts'
import { runLeaseContract } from './run-lease.ts'
import { runLogCallsContract } from './run-log-calls.ts'
import { runLogEndingsContract } from './run-log-endings.ts'
import { runLogLateWritesContract } from './run-log-late-writes.ts'
import { runLogContract } from './run-log.ts'
import { sessionDeletionContract } from './session-deletion.ts'
import { sessionJanitorContract } from './session-janitor.ts'
import { sessionStoreContract } from './session-store.ts'
import type { Engine } from './stores.ts'

/** Everything that the session ports promise: an engine that passes can hold Tooltrail's sessions. */
export function sessionPortsContract(engine: Engine): void {
  sessionStoreContract(engine)
  runInboxContract(engine)
  runInboxRepeatsContract(engine)
  runInboxCapsContract(engine)
  runInboxAnswersContract(engine)
  runInboxCancelContract(engine)
  runCountsContract(engine)
  runLeaseContract(engine)
  runLogContract(engine)
  runLogCallsContract(engine)
  runLogEndingsContract(engine)
  runLogLateWritesContract(engine)
  logReaderContract(engine)
  sessionJanitorContract(engine)
  sessionDeletionContract(engine)
  keyStoreContract(engine)
}
