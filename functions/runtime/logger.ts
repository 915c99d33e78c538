import type { Logger } from '../ports/logger.ts'
import { logError, logFields, logText } from './log-text.ts'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Creates a logger that writes one JSON object per line, for messages of at least `level`. */
export function createLogger(level: LogLevel, write: (line: string) => void): Logger {
  const line: (at: LogLevel, message: string, fields: object) => void = (at, message, fields) => {
    if (LOG_LEVELS.indexOf(at) < LOG_LEVELS.indexOf(level)) return
    write(JSON.stringify({ time: new Date().toISOString(), level: at, message: logText(message), ...fields }))
  }
  return {
    info: (message, fields = {}) => line('info', message, logFields(fields)),
    warn: (message, fields = {}) => line('warn', message, logFields(fields)),
    error: (message, cause, fields = {}) => line('error', message, { ...logFields(fields), error: logError(cause) }),
  }
}
