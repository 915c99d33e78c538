import { closeSync, futimesSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Message, ToolMessage } from '../../functions/domain/messages/message.ts'
import { textOf } from '../../functions/domain/messages/message.ts'
import { randomNumbers } from '../../test/e2e/crashes/parts/random-numbers.ts'
import { readCorpus } from '../../test/search-corpus.ts'

/** Size and contents of the written files. */
export interface MadeFiles {
  readonly bytes: number
  readonly files: number
}

/**
 * Modification time of the files. It is in the past, because an import does not read the ends of recently written
 * files.
 */
const WRITTEN = new Date('2026-01-02')

/**
 * Writes `bytes` of Claude Code's session files, which are equal in every run. Repeats the recorded conversations, each
 * time with different digits, so that numbers, hashes and ids are as diverse as in real logs.
 */
export function makeClaudeFiles(folder: string, bytes: number): MadeFiles {
  const corpus = readCorpus()
  const random = randomNumbers(20_260_102)
  let [written, files] = [0, 0]
  for (let copy = 0; written < bytes; copy++) {
    const digits = shuffled(random)
    const project = join(folder, `-work-project-${copy}`)
    mkdirSync(project, { recursive: true })
    for (const { messages } of corpus) {
      if (written >= bytes) break
      const session = `00000000-0000-4000-8000-${String(files++).padStart(12, '0')}`
      const file = openSync(join(project, `${session}.jsonl`), 'w')
      for (const line of linesOf(session, messages)) {
        const changed = copy === 0 ? line : withDigits(line, digits)
        written += writeSync(file, `${JSON.stringify(changed)}\n`)
      }
      futimesSync(file, WRITTEN, WRITTEN)
      closeSync(file)
    }
  }
  return { bytes: written, files }
}

function shuffled(random: () => number): readonly number[] {
  return Array.from({ length: 10 }, (_, digit) => ({ digit, place: random() }))
    .toSorted((left, right) => left.place - right.place)
    .map(({ digit }) => digit)
}

interface Line {
  readonly message: object
}

const DIGITS = /[0-9]/gu
/** Replaces the digits of a line. A call's id gets the same new digits in the call and in its result. */
const withDigits = (line: Line, digits: readonly number[]): Line => ({
  ...line,
  message: JSON.parse(
    JSON.stringify(line.message, (key, value: unknown) =>
      typeof value === 'string' && key !== 'media_type'
        ? value.replaceAll(DIGITS, (digit) => String(digits[Number(digit)]))
        : value,
    ),
  ) as object,
})

function linesOf(session: string, messages: readonly Message[]): Line[] {
  let number = 0
  const line = (type: string, message: object, at: number): Line => ({
    ...{ type, uuid: `${session}-${++number}`, sessionId: session, cwd: '/work/project', gitBranch: 'main' },
    ...{ version: '2.1.0', timestamp: new Date(at).toISOString(), message },
  })
  return messages.map((message) => {
    if (message.role === 'user')
      return line('user', { role: 'user', content: textOf(message.parts) }, message.createdAt)
    if (message.role === 'tool') return line('user', { role: 'user', content: [resultOf(message)] }, message.createdAt)
    const text = textOf(message.parts)
    const content = [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...message.toolCalls.map((call) => ({
        ...{ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call.arguments) },
      })),
    ]
    return line('assistant', { id: message.id, role: 'assistant', model: 'made', content }, message.createdAt)
  })
}

const resultOf = ({ toolCallId, parts }: ToolMessage): object => ({
  ...{ type: 'tool_result', tool_use_id: toolCallId, content: textOf(parts) },
})

function inputOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { text }
  }
}
