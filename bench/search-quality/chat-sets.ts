import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import { nextId } from '../../functions/domain/ids.ts'
import { messageName, type Question, type QuestionSet } from './question-sets.ts'

/** One turn of a chat. LoCoMo has `text`, REALTALK has `clean_text`. */
interface Turn {
  readonly speaker: string
  readonly dia_id: string
  readonly text?: string
  readonly clean_text?: string
  /** Only in REALTALK. */
  readonly date_time?: string
}

interface Asked {
  readonly question: string
  readonly category: number
  readonly evidence?: readonly string[]
}

/** Category of questions without an answer in the chat. */
const UNANSWERABLE = 5
/** Names of the categories of LoCoMo and REALTALK. */
const KINDS = ['', 'several turns', 'time', 'world knowledge', 'one turn']
const TURN_MS = 30_000
const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

/**
 * Reads a folder of long chats in the format of LoCoMo or REALTALK. Each file is one chat and one tenant. Each dated part
 * of a chat is a session. The first speaker of a chat is the user, and the second one is the assistant.
 */
export function readChats(name: string, folder: string): QuestionSet {
  const documents: HistoryDocument[] = []
  const questions: Question[] = []
  for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.json'))) {
    const parsed = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Readonly<Record<string, unknown>>
    const chat = (parsed['conversation'] ?? parsed) as Readonly<Record<string, unknown>>
    const { made, names, last } = readTurns(file, chat)
    documents.push(...made)
    for (const { question, category, evidence = [] } of (parsed['qa'] ?? []) as readonly Asked[]) {
      const ids = evidence.flatMap((entry) => entry.match(/D\d+:\d+/gu) ?? [])
      const relevant = new Set(ids.flatMap((id) => names.get(id) ?? []))
      if (category === UNANSWERABLE || relevant.size === 0) continue
      const kind = KINDS[category] ?? 'other'
      questions.push({ text: question, kind, tenant: file, relevant, half: 'all', askedAt: last })
    }
  }
  return { name, documents, questions }
}

interface Turns {
  readonly made: readonly HistoryDocument[]
  /** Names of messages by the ids that the questions use. */
  readonly names: ReadonlyMap<string, string>
  readonly last: number
}

function readTurns(tenant: string, chat: Readonly<Record<string, unknown>>): Turns {
  const made: HistoryDocument[] = []
  const names = new Map<string, string>()
  let first: string | undefined
  let last = 0
  for (let number = 1; Array.isArray(chat[`session_${number}`]); number++) {
    const session = `session_${number}`
    const turns = chat[session] as readonly Turn[]
    const begun = timeOf((chat[`${session}_date_time`] as string | undefined) ?? turns[0]?.date_time ?? '')
    let id: string | undefined
    for (const [place, turn] of turns.entries()) {
      first ??= turn.speaker
      last = begun + place * TURN_MS
      id = nextId(id, last)
      const text = `${turn.speaker}: ${turn.text ?? turn.clean_text ?? ''}`
      const role = turn.speaker === first ? 'user' : 'assistant'
      const part = role === 'user' ? 'u' : 'a'
      const runId = `${session}-${place}`
      made.push({ tenant, session, runId, messageId: id, part, role, agent: 'default', text, time: last })
      names.set(turn.dia_id, messageName(session, id))
    }
  }
  return { made, names, last }
}

/** Reads `1:47 pm on 18 May, 2023` or `29.12.2023, 00:51:12`, in UTC. */
function timeOf(text: string): number {
  const numbers = /^(\d+)\.(\d+)\.(\d+), (\d+):(\d+)/u.exec(text)?.slice(1).map(Number)
  if (numbers !== undefined) {
    const [day = 1, month = 1, year = 0, hour = 0, minute = 0] = numbers
    return Date.UTC(year, month - 1, day, hour, minute)
  }
  const [, hour, minute, half, day, month = '', year] = /^(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d+)/u.exec(text) ?? []
  const time = Date.UTC(
    Number(year),
    MONTHS.indexOf(month.slice(0, 3).toLowerCase()),
    Number(day),
    (Number(hour) % 12) + (half === 'pm' ? 12 : 0),
    Number(minute),
  )
  if (Number.isNaN(time)) throw new RangeError(`cannot read the date of a chat: ${text}`)
  return time
}
