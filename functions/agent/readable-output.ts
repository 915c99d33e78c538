import { definedFields } from '../domain/defined-fields.ts'
import type { HistoryScope } from '../domain/history.ts'
import { isUlid } from '../domain/ids.ts'
import { textOf } from '../domain/messages/message.ts'
import type { ToolMessage } from '../domain/messages/message.ts'
import type { SessionKey } from '../domain/session.ts'
import { outputText } from '../log/output-text.ts'
import type { HistoryIndex } from '../ports/history-index.ts'
import type { LogReader } from '../ports/log-reader.ts'
import type { OutputStore } from '../ports/output-store.ts'

interface Dependencies {
  readonly reader: Pick<LogReader, 'message'>
  readonly outputs: Pick<OutputStore, 'read'>
  readonly index: HistoryIndex
}

/** The sessions in which a reader may read outputs. */
export interface OutputPlaces {
  readonly tenant: string
  /** A session that may be read whatever the scope is. */
  readonly own?: SessionKey
  /** Returns the scope in which outputs of other sessions may be read. Called only for outputs of other sessions. */
  scope(): Promise<HistoryScope>
}

/** A tool result that can be read, whatever its length. */
export interface FoundOutput {
  readonly session: string
  readonly message: ToolMessage
  readonly pieces: AsyncIterable<string>
}

/** Finds the output that a pointer names in these sessions; undefined if there is none. */
export async function readableOutput(
  { reader, outputs, index }: Dependencies,
  pointer: string,
  { tenant, own, scope }: OutputPlaces,
): Promise<FoundOutput | undefined> {
  const [, id = '', place] = POINTER.exec(pointer) ?? []
  if (!isUlid(id)) return undefined
  const near = own === undefined ? undefined : await reader.message(own, id)
  const session = near === undefined ? await index.locate(await scope(), id) : own?.session
  if (session === undefined) return undefined
  const key = { tenant, session }
  const message = near ?? (await reader.message(key, id))
  if (message?.role !== 'tool') return undefined
  const content = place === undefined ? message : sourceAt(message, Number(place))
  return content && { session, message, pieces: piecesOf(outputs, key, content) }
}

/**
 * Matches a pointer: `output:<message id>`. A pointer to one of the result's sources has `.` and the source's number,
 * from 1, at its end.
 */
const POINTER = /^output:([0-9A-Z]{26})(?:\.([1-9][0-9]{0,2}))?$/

type Content = Pick<ToolMessage, 'output' | 'parts'>

/** The text of a result's source with this number; undefined if there is none. */
function sourceAt({ sources = [] }: ToolMessage, place: number): Content | undefined {
  const source = sources[place - 1]
  if (source?.text === undefined) return undefined
  return { parts: [{ type: 'text', text: source.text }], ...definedFields({ output: source.output }) }
}

/** Reads the text of a tool result, from the output store if it was offloaded. */
async function* piecesOf(
  outputs: Dependencies['outputs'],
  key: SessionKey,
  { output, parts }: Content,
): AsyncGenerator<string> {
  const object = output?.object
  if (output === undefined || object === undefined) yield textOf(parts)
  else yield* outputText((range) => outputs.read(key, object, range), output)
}
