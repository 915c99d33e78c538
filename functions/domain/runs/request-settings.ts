import type { JsonObject } from '../json.ts'

/** A format of completions without calls whose text is JSON. `strict`: a hint for providers that know it. */
export type JsonFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly name: string
      readonly description?: string | undefined
      readonly schema: JsonObject
      readonly strict?: boolean | undefined
    }
export type ResponseFormat = { readonly type: 'text' } | JsonFormat

/** A tool choice that differs from `auto`. */
export type ForcedChoice = 'none' | 'required' | { readonly name: string }

export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** Options of a model request that a caller may set, if the agent's policy `requestOptions` is `accept`. */
export interface SamplingOptions {
  readonly temperature?: number
  readonly topP?: number
  readonly maxOutputTokens?: number
  readonly seed?: number
  readonly reasoningEffort?: (typeof REASONING_EFFORTS)[number]
}

/** Maximum number of stop sequences, and characters of one. */
export const MAX_STOPS = 4
export const MAX_STOP_CHARACTERS = 1_000

/** The settings that a caller's request names for its run. */
export interface RequestSettings {
  readonly responseFormat?: ResponseFormat | undefined
  readonly toolChoice?: 'auto' | ForcedChoice | undefined
  /** Texts at which the model stops. */
  readonly stop?: readonly string[] | undefined
  readonly options?: SamplingOptions | undefined
}

/**
 * The settings that hold for the requests of a run's leader. They are stored with the run, so that each holder sends
 * the same requests.
 */
export interface RunSettings {
  readonly format?: JsonFormat
  readonly toolChoice?: ForcedChoice
  /** Number of the leader's round that `toolChoice` holds for. Absent: the first round. */
  readonly choiceRound?: number
  readonly stop?: readonly string[]
  readonly options?: SamplingOptions
}

export const isStrict = (format: JsonFormat): boolean => format.type === 'json_schema' && format.strict === true

/** Returns the format; undefined for plain text. */
export const jsonFormat = (format: ResponseFormat | undefined): JsonFormat | undefined =>
  format === undefined || format.type === 'text' ? undefined : format

/** Removes the tool choice, which holds for one round only. */
export function withoutChoice(settings: RunSettings | undefined): RunSettings | undefined {
  if (settings === undefined) return undefined
  const { toolChoice: _choice, choiceRound: _round, ...rest } = settings
  return Object.keys(rest).length === 0 ? undefined : rest
}
