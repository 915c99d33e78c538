import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import { textOf } from '../functions/domain/messages/message.ts'
import type { Message } from '../functions/domain/messages/message.ts'
import { NO_USAGE } from '../functions/domain/usage/usage.ts'
import { replay } from '../functions/log/replay.ts'
import { scaleOf, tokensOf } from '../functions/log/request/request-size.ts'
import { weighMessages } from '../functions/log/request/token-weight.ts'
import { writeLog } from '../test/generators/messages.ts'
import { hasRecordings, readCorpus } from '../test/search-corpus.ts'
import type { CorpusSession } from '../test/search-corpus.ts'
import { printTable, quantile } from './report.ts'

/**
 * Measures the error of the token estimate of requests, compared with real tokenizers. Estimates each turn of the
 * recorded conversations twice: without any reported usage, and with the usage of earlier completions. Some providers
 * do not publish their tokenizers. They are represented by an invented tokenizer that counts twice as many tokens.
 */
/** Tokens of a message in addition to those of its text. */
const MESSAGE = 4

/**
 * Returns the texts of a conversation. They are used alternately as input and completion, because only the kind of text
 * matters, not its author.
 */
const textsOf = ({ messages }: CorpusSession): string[] =>
  messages.flatMap((message) => {
    const calls = message.role === 'assistant' ? message.toolCalls.map((call) => call.arguments) : []
    return [textOf(message.parts), ...calls].filter((one) => one !== '')
  })

interface Errors {
  readonly unknown: number[]
  readonly learned: number[]
}

function measure(texts: readonly string[], count: (text: string) => number, errors: Errors): void {
  const writer = writeLog()
  let tokens = 0
  for (const [index, text] of texts.entries()) {
    const run = `run-${Math.floor(index / 2)}`
    if (index % 2 === 1) {
      const inputTokens = tokens
      writer.assistant(text)
      const last = writer.log.at(-1) as Message
      writer.log[writer.log.length - 1] = { ...last, usage: { ...NO_USAGE, inputTokens } } as Message
    } else writer.run(run).user(text)
    tokens += count(text) + MESSAGE
    if (index % 2 === 1) continue
    const of = {
      messages: writer.log,
      context: {},
      currentRun: run,
      replay: 'full',
      declarations: 0,
      isWhole: true,
    } as const
    const weight = weighMessages(replay(writer.log, of))
    const off = Math.abs(tokensOf(scaleOf(of), weight) / tokens - 1)
    errors.unknown.push(Math.abs(weight / tokens - 1))
    if (index > 0) errors.learned.push(off)
  }
}

if (!hasRecordings()) console.log('tokens: left out, as the recorded conversations are not here')
else {
  const conversations = readCorpus().map((session) => textsOf(session).slice(0, 120))
  const percent = (values: readonly number[], share: number): string =>
    `${(quantile(values, share) * 100).toFixed(1)} %`
  const rows = [
    ['o200k_base', o200k],
    ['cl100k_base', cl100k],
    ['twice o200k_base', (text: string) => 2 * o200k(text)],
  ] as const
  printTable(
    'Estimated tokens of a request, off by',
    ['tokenizer', 'no usage: p50', 'p95', 'with usage: p50', 'p95', 'within 25 %'],
    rows.map(([name, count]) => {
      const errors: Errors = { unknown: [], learned: [] }
      for (const texts of conversations) measure(texts, count, errors)
      const within = errors.learned.filter((error) => error <= 0.25).length / errors.learned.length
      return [
        name,
        ...[percent(errors.unknown, 0.5), percent(errors.unknown, 0.95)],
        ...[percent(errors.learned, 0.5), percent(errors.learned, 0.95), `${(within * 100).toFixed(1)} %`],
      ]
    }),
  )
}
