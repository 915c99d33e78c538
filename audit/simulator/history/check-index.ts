import type { HistoryDocument } from '../../../functions/domain/history.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import { outputText } from '../../../functions/log/output-text.ts'
import { projectMessage } from '../../../functions/search/documents/documents.ts'
import { redactSecrets } from '../../../functions/search/redaction/redact.ts'
import { must } from '../harness.ts'
import type { MemoryOutputs } from '../world/outputs.ts'
import type { Sessions, Watch } from '../actors/sessions.ts'
import type { SimulatedIndex } from './simulated-index.ts'

/**
 * Loads the rules for secrets before any simulation. Otherwise, a simulation would load them, which takes real time.
 */
await redactSecrets(`ghp_${'aB3d'.repeat(9)}`)

/** Maximum length of the document in a violation's message, in characters. */
const MAX_QUOTED_CHARACTERS = 300

/** Checks that the index contains exactly the documents of the log, and no document of a deleted session. */
export async function checkIndex(index: SimulatedIndex, { all }: Sessions, outputs: MemoryOutputs): Promise<void> {
  for (const watch of all) {
    const found = (await index.documents(watch.key)).map(shown).toSorted()
    const expected = (await documentsOf(watch, outputs)).map(shown).toSorted()
    const [missing] = expected.filter((one) => !found.includes(one))
    const [wrong] = found.filter((one) => !expected.includes(one))
    must(
      'the index equals the log',
      missing === undefined,
      `${watch.key.session} lacks ${missing?.slice(0, MAX_QUOTED_CHARACTERS)}`,
    )
    must(
      'the index equals the log',
      wrong === undefined,
      `${watch.key.session} has ${wrong?.slice(0, MAX_QUOTED_CHARACTERS)}`,
    )
    must('the index has each document once', found.length === expected.length, watch.key.session)
  }
  const fault = index.fault()
  must('the index fits together', fault === undefined, fault)
}

async function documentsOf({ seen: { messages, header }, key }: Watch, outputs: MemoryOutputs) {
  const found: HistoryDocument[] = []
  if (header?.status !== 'live') return found
  const readOutput = ({ output }: ToolMessage): AsyncIterable<string> => {
    const { object } = output ?? {}
    if (output === undefined || object === undefined) throw new Error('there is no output')
    return outputText((range) => outputs.read(key, object, range), output)
  }
  for (const message of messages)
    for await (const document of projectMessage(message, { key }, readOutput)) found.push(document)
  return found
}

/** Formats all fields of a document as text. Equal documents have equal texts. */
function shown({ messageId, part, runId, agent, role, time, text, ...more }: HistoryDocument): string {
  const { toolName = null, toolCallId = null, status = null, call = null } = more
  return JSON.stringify([messageId, part, runId, agent, role, time, toolName, toolCallId, status, call, text])
}
