import type { Status } from '../../runtime/aws/status.ts'

/** Index lag above which people notice that the search misses recent messages. */
const SLOW_LAG_MS = 60_000
/** Age of a hint, in seconds, above which it counts as waiting for a worker. */
const OLD_HINT_SECONDS = 300
const LINE_LENGTH = 160

interface Line {
  readonly label: string
  readonly text: string
  /** The next step for the operator. */
  readonly todo?: string
}

/** An environment's state on one screen. Problems are marked and repeated at the end. */
export function statusText(status: Status): string {
  const lines = linesOf(status)
  const todos = lines.flatMap(({ todo }) => (todo === undefined ? [] : [`! ${todo}\n`]))
  const shown = lines.map(({ label, text, todo }) => `${todo === undefined ? ' ' : '!'} ${label.padEnd(16)} ${text}\n`)
  const head = `Tooltrail ${status.environment}, ${status.region}, ${status.apiUrl}\n\n`
  return `${head}${shown.join('')}\n${todos.length === 0 ? 'Nothing needs attention.\n' : todos.join('')}`
}

/** Whether the state contains a problem. */
export const needsAttention = (status: Status): boolean => linesOf(status).some(({ todo }) => todo !== undefined)

function linesOf(status: Status): Line[] {
  const redrive = `npx tooltrail redrive --env ${status.environment}`
  return [
    line('Log table', status.table, ({ name, items, bytes }) => ({
      text: `${name}: ${number(items)} items, ${number(Math.ceil(bytes / 1024))} KB, as of the last few hours`,
    })),
    line('Run queue', status.queue, ({ waiting, taken }) => ({
      text: `${number(waiting)} waiting, ${number(taken)} being handled${oldest(status.oldestSeconds)}`,
      // An old hint alone is no problem, because it may belong to a long run that is in progress.
      ...(waiting > 0 && typeof status.oldestSeconds === 'number' && status.oldestSeconds > OLD_HINT_SECONDS
        ? {
            todo: 'Hints have waited too long: are the workers throttled? See `oldest-hint` in docs/operations/alarms.md.',
          }
        : {}),
    })),
    line('Dead letters', status.deadLetters, ({ waiting, taken }) => ({
      text: number(waiting + taken),
      ...(waiting + taken === 0 ? {} : { todo: `Workers failed on hints: see the errors, then ${redrive}` }),
    })),
    line('Not indexed', bothOf(status.indexDeadLetters, status.failedBatches), ([indexDeadLetters, batches]) => ({
      text: `${number(indexDeadLetters.waiting + indexDeadLetters.taken)} messages, ${number(batches)} batches`,
      ...(indexDeadLetters.waiting + indexDeadLetters.taken + batches === 0
        ? {}
        : { todo: `Messages could not be indexed: see the errors, then ${redrive}` }),
    })),
    line('Index lag', status.indexLagMs, (lag) => ({
      text: lag === undefined ? 'nothing indexed in 15 minutes' : `${number(Math.round(lag))} ms at most in 15 minutes`,
      ...(lag !== undefined && lag > SLOW_LAG_MS ? { todo: 'The index is behind the log.' } : {}),
    })),
    documentsLine(status),
    line('Search', status.domain, (domain) => ({
      text: domain === undefined ? SERVERLESS : domain.text,
      ...(domain === undefined || domain.green ? {} : { todo: 'The search domain is unhealthy.' }),
    })),
    ...errorLines(status),
  ]
}

const SERVERLESS = 'serverless; counting its documents wakes a sleeping index for about ten minutes'

/**
 * A missing right is no problem: a person may deploy and watch an environment without the right to read its messages.
 */
const NOT_AN_OPERATOR = 'not counted: your role is not an operator (see "Operators" in docs/operations/README.md)'

const OUTDATED = 'An earlier version made the index, so searches miss some words until it is rebuilt'

function documentsLine({ documents, documentsOfTable, environment }: Status): Line {
  if (documents === 'refused') return { label: 'Documents', text: NOT_AN_OPERATOR }
  const rebuild = `npx tooltrail rebuild --env ${environment}`
  return line('Documents', bothOf(documents, documentsOfTable), ([{ count = 0, tookMs, isOutdated }, most]) => {
    const times = `(search took ${number(Math.round(tookMs))} ms)`
    const text = `${number(count)} in the index${most === undefined ? '' : `, at most ${number(most)} in the log`} ${times}`
    if (count === 0 && most !== undefined && most > 0) return { text, todo: `The index is empty: ${rebuild}` }
    return { text, ...(isOutdated ? { todo: `${OUTDATED}: ${rebuild}` } : {}) }
  })
}

function errorLines({ errors }: Status): Line[] {
  if (errors instanceof Error || errors.length === 0)
    return [line('Errors', errors, () => ({ text: 'none in the last hour' }))]
  return errors.map(({ at, logGroup, line: text }) => ({
    label: 'Error',
    text: `${new Date(at).toISOString()} ${logGroup}: ${printable(text)}`,
    todo: `See the log group ${logGroup}`,
  }))
}

function line<Found>(
  label: string,
  found: Found | Error,
  report: (found: Found) => { readonly text: string; readonly todo?: string },
): Line {
  if (found instanceof Error) {
    const text = `cannot be read: ${printable(found.message || found.name)}`
    return { label, text, todo: `${label}: do these credentials allow it?` }
  }
  return { label, ...report(found) }
}

const bothOf = <One, Other>(one: One | Error, other: Other | Error): readonly [One, Other] | Error =>
  one instanceof Error ? one : other instanceof Error ? other : [one, other]

const oldest = (seconds: Status['oldestSeconds']): string =>
  typeof seconds === 'number' ? `, oldest ${number(Math.round(seconds))} s` : ''

const number = (value: number): string => value.toLocaleString('en-US')

/** Removes control characters, because log lines may contain text from outside. */
const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').slice(0, LINE_LENGTH)
