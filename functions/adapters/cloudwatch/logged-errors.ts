import { paginateFilterLogEvents, ResourceNotFoundException } from '@aws-sdk/client-cloudwatch-logs'
import type { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs'

export interface LoggedError {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly logGroup: string
  /** The line as it was logged. */
  readonly line: string
}

/** What our own lines and Lambda's about a function that died have in common. */
const PATTERN = '?ERROR ?"Task timed out" ?"Runtime exited" ?"Process exited"'

/** The newest `limit` errors that these groups have logged since `since` (milliseconds since 1970), newest first. */
export async function newestErrors(
  client: CloudWatchLogsClient,
  logGroups: readonly string[],
  { since, limit }: { readonly since: number; readonly limit: number },
): Promise<readonly LoggedError[]> {
  const found = await Promise.all(logGroups.map((logGroup) => errorsOf(client, logGroup, since)))
  return found
    .flat()
    .toSorted((left, right) => right.at - left.at)
    .slice(0, limit)
}

/** A group that nothing was ever logged to has no errors. */
async function errorsOf(client: CloudWatchLogsClient, logGroup: string, since: number): Promise<LoggedError[]> {
  const errors: LoggedError[] = []
  try {
    const query = { logGroupName: logGroup, startTime: since, filterPattern: PATTERN }
    for await (const { events = [] } of paginateFilterLogEvents({ client }, query))
      for (const { timestamp = 0, message = '' } of events)
        errors.push({ at: timestamp, logGroup, line: message.trim() })
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error
  }
  return errors
}
