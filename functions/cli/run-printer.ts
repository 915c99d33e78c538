import type { Message, RunEvent } from '../client/api-types.ts'
import { howFar } from '../client/how-far.ts'
import { ApiProblem } from '../client/problem.ts'
import { note, oneLine, onErrors, print } from './terminal.ts'
import { harmless } from '../runtime/terminal-output.ts'

const CALL_WIDTH = 100
const RESULT_WIDTH = 160

/** For each of these stop reasons of a run: the explanation of why the printed answer may be incomplete. */
const SHORT_OF: ReadonlyMap<string | undefined, string> = new Map([
  ['output_limit', 'the answer is not whole: the limit of output tokens cut it off'],
  ['max_rounds', 'the run has reached its limit of rounds'],
  ['budget', 'the run has reached its limit of tokens'],
])

export interface RunPrinter {
  show(event: RunEvent): void
}

/**
 * Prints a run as it happens: the model's text on standard output, everything else on standard error. If a round is
 * restarted, a line says so, and the round's text is printed again. Text that was not streamed is printed when its
 * message is complete.
 */
export function createRunPrinter(): RunPrinter {
  const { text, rest, line, forget } = createTextPrinter()
  /** The error code that was printed with a message. The run's end has the same code, which is not printed again. */
  let shownCode: string | undefined
  return {
    show(event) {
      const member = 'parent_tool_call_id' in event && event.parent_tool_call_id !== undefined
      const indent = member ? `  [${oneLine(event.agent ?? 'member', 30)}] ` : ''
      switch (event.type) {
        case 'text.delta':
          if (!member) text(event.text)
          return
        case 'message.completed':
          if (!member) rest(event.message)
          for (const part of event.message.parts) {
            if (part.type !== 'error') continue
            line(onErrors('red', `${indent}${part.code}: ${harmless(part.text)}`))
            if (!member) shownCode = part.code
          }
          return
        case 'tool_call.started':
          return line(onErrors('cyan', `${indent}→ ${callOf(event.message)}`))
        case 'tool_call.progress':
          return line(onErrors('dim', `${indent}… ${oneLine(`${event.tool_name}: ${howFar(event)}`, RESULT_WIDTH)}`))
        case 'tool_call.completed':
          return line(onErrors('dim', `${indent}← ${resultOf(event.message)}`))
        case 'round.started':
          if (!member) forget()
          return
        case 'round.restarted':
          if (!member) forget()
          return line(onErrors('yellow', `${indent}this round begins again (${oneLine(event.reason, 80)})`))
        case 'warning':
          return line(onErrors('yellow', `${event.code}: ${oneLine(event.detail, RESULT_WIDTH)}`))
        case 'context.nearly_full':
          return line(
            onErrors('yellow', `the context is nearly full: ${event.messages} of ${event.threshold} messages`),
          )
        case 'context.consolidated':
          return line(onErrors('yellow', `${event.messages} earlier messages were summarised`))
        case 'run.queued':
          return line(onErrors('dim', 'another run is active: this one waits for it'))
        case 'run.cancelled':
          return line(onErrors('yellow', 'cancelled'))
        case 'run.completed': {
          const why = SHORT_OF.get(event.run.stop_reason)
          return why === undefined ? undefined : line(onErrors('yellow', why))
        }
        case 'run.failed': {
          const { code, message } = event.run.error ?? { code: 'failed', message: 'the run failed' }
          if (code === shownCode) return
          return line(onErrors('red', `${code}: ${oneLine(message, 400)}`))
        }
        default:
      }
    },
  }
}

/** Prints the leader's text on standard output, and lines on standard error. */
function createTextPrinter() {
  let atLineStart = true
  /** The leader's text of this round that has been printed so far. */
  let streamed = ''
  const put = (piece: string): void => {
    print(piece)
    atLineStart = piece.endsWith('\n')
  }
  const endLine = (): void => {
    if (!atLineStart) put('\n')
  }
  const rest = ({ role, parts }: Message): void => {
    const whole = role === 'assistant' ? parts.map((part) => (part.type === 'text' ? part.text : '')).join('') : ''
    const isBegun = whole.startsWith(streamed)
    if (!isBegun) endLine()
    const missing = harmless(isBegun ? whole.slice(streamed.length) : whole)
    if (missing !== '') put(missing)
    endLine()
    streamed = ''
  }
  // A result may arrive while the text of the next round is streamed. On a terminal, both appear on one screen, so the
  // current line of text is ended first.
  const line = (message: string): void => {
    if (process.stdout.isTTY) endLine()
    note(`${message}\n`)
  }
  return {
    text(piece: string): void {
      streamed += piece
      if (piece !== '') put(harmless(piece))
    },
    /** Prints the part of a message that has not been printed yet. */
    rest,
    line,
    /** Called when the text of the round starts again. */
    forget(): void {
      streamed = ''
      endLine()
    },
  }
}

/** Formats a call as `name(key=value)`, as in the log. */
export const callOf = (message: Message): string => oneLine(message.call ?? message.tool_name ?? 'a call', CALL_WIDTH)

/** Status, duration and beginning of a tool result. */
function resultOf(message: Message): string {
  const text = message.parts.map((part) => ('text' in part ? part.text : `[${part.type}]`)).join(' ')
  const time = message.duration_ms === undefined ? '' : ` ${message.duration_ms} ms`
  return `${message.tool_name ?? 'tool'} ${message.status ?? ''}${time}: ${oneLine(text, RESULT_WIDTH)}`
}

/** Prints why the stream of a run's events was lost, and that the command connects again. */
export function onLost(reason: unknown): void {
  const why = oneLine(reason instanceof Error ? reason.message : String(reason), 200)
  const what = reason instanceof ApiProblem ? `not possible at the moment: ${why}` : `the connection was lost (${why})`
  note(onErrors('dim', `${what}; trying again\n`))
}
