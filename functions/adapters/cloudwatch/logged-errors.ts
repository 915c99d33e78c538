import { paginateFilterLogEvents, ResourceNotFoundException } from '@aws-sdk/client-cloudwatch-logs'
import type { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs'

export interface LoggedError {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly logGroup: string
  /** The line as it was logged. */
  readonly line: string
}

/** Matches our own error lines, and Lambda's lines about a function that timed out or exited. */
const PATTERN = '?ERROR ?"Task timed out" ?"Runtime exited" ?"Process exited"'

/** Windows to search, in minutes before now. They are searched one after the other until there are enough errors. */
const WINDOWS = [1, 5, 15, 60, Infinity]
const MINUTE_MS = 60_000
/** Maximum number of pages per window and log group. The first page has the oldest lines of the window. */
const MAX_PAGES = 10

interface Span {
  /** Milliseconds since 1970. */
  readonly since: number
  readonly now: number
}

/**
 * Returns the newest `limit` errors that these groups have logged, newest first. If a group logs more in a minute than
 * can be read, only a part of that minute is included.
 */
export async function newestErrors(
  client: CloudWatchLogsClient,
  logGroups: readonly string[],
  { since, now, limit }: Span & { readonly limit: number },
): Promise<readonly LoggedError[]> {
  const found = await Promise.all(logGroups.map((logGroup) => errorsOf(client, logGroup, { since, now, limit })))
  return newest(found.flat(), limit)
}

async function errorsOf(
  client: CloudWatchLogsClient,
  logGroup: string,
  { since, now, limit }: Span & { readonly limit: number },
): Promise<readonly LoggedError[]> {
  let errors: readonly LoggedError[] = []
  let until = now
  for (const minutes of WINDOWS) {
    const start = Math.max(since, now - minutes * MINUTE_MS)
    errors = newest([...errors, ...(await errorsWithin(client, logGroup, { since: start, now: until, limit }))], limit)
    if (errors.length === limit || start === since) break
    until = start - 1
  }
  return errors
}

/** Returns the errors within a window. A group in which nothing was ever logged has no errors. */
async function errorsWithin(
  client: CloudWatchLogsClient,
  logGroup: string,
  { since, now, limit }: Span & { readonly limit: number },
): Promise<readonly LoggedError[]> {
  let errors: readonly LoggedError[] = []
  let pages = 0
  try {
    const query = { logGroupName: logGroup, startTime: since, endTime: now, filterPattern: PATTERN }
    for await (const { events = [] } of paginateFilterLogEvents({ client }, query)) {
      const more = events.map(({ timestamp = 0, message = '' }) => ({ at: timestamp, logGroup, line: message.trim() }))
      errors = newest([...errors, ...more], limit)
      if (++pages === MAX_PAGES) break
    }
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error
  }
  return errors
}

const newest = (errors: readonly LoggedError[], limit: number): readonly LoggedError[] =>
  errors.toSorted((left, right) => right.at - left.at).slice(0, limit)
