import { Logger as Powertools } from '@aws-lambda-powertools/logger'
import type { Context } from 'aws-lambda'
import type { Logger } from '../../ports/logger.ts'
import { logError, logFields, logText } from '../log-text.ts'
import type { LogLevel } from '../logger.ts'

/** A logger that adds the ids of the invocation, its session and its run to each line. */
export interface InvocationLogger extends Logger {
  /** Begins an invocation and drops the ids of the previous one. */
  begin(context: Context): void
  /** Adds these ids to later lines of the invocation. */
  identify(ids: { readonly tenant: string; readonly session: string; readonly run?: string }): void
}

/** Logs JSON lines of at least `level`, each with the invocation's request id, session and run. */
export function createLambdaLogger(level: LogLevel, environment: string): InvocationLogger {
  const logger = new Powertools({
    serviceName: 'tooltrail',
    logLevel: level.toUpperCase() as Uppercase<LogLevel>,
    persistentKeys: { environment },
  })
  return {
    begin(context) {
      logger.resetKeys()
      logger.addContext(context)
    },
    identify: (ids) => logger.appendKeys({ ...ids }),
    info: (message, fields = {}) => logger.info(logText(message), { ...logFields(fields) }),
    warn: (message, fields = {}) => logger.warn(logText(message), { ...logFields(fields) }),
    error: (message, cause, fields = {}) =>
      logger.error(logText(message), { ...logFields(fields), error: logError(cause) }),
  }
}
