import type { RunEvent } from './api-types.ts'

type CallProgress = Pick<Extract<RunEvent, { type: 'tool_call.progress' }>, 'progress' | 'total' | 'text'>

/** Describes the progress of a call: `3 of 10, page 3`. */
export function howFar({ progress, total, text }: CallProgress): string {
  const numbers = total === undefined ? `${progress}` : `${progress} of ${total}`
  return text === undefined ? numbers : `${numbers}, ${text}`
}
