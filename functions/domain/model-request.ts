import type { ModelOptions } from './agent.ts'
import type { JsonObject } from './json.ts'
import type { ProviderMetadata, ToolCall } from './messages/message.ts'
import type { JsonFormat } from './runs/request-settings.ts'

export interface RequestMedia {
  readonly type: 'image' | 'file'
  /** Object name in the output store. */
  readonly id: string
  readonly mediaType: string
  readonly filename?: string
  /** Set just before the request. A media part without bytes is never sent to a model. */
  readonly data?: Uint8Array
  /** The address for people, shown instead of the bytes. Never sent to a model. */
  readonly url?: string
}
export interface RequestText {
  readonly type: 'text'
  readonly text: string
  readonly provider?: ProviderMetadata
}
export interface RequestReasoning {
  readonly type: 'reasoning'
  readonly text: string
  readonly provider?: ProviderMetadata
}
export interface RequestToolCall extends ToolCall {
  readonly type: 'tool_call'
  /** The tool's name in the log. Set if the provider gets a mapped name. */
  readonly originalName?: string
  /** The id of the call's message in the log. Set if an earlier call of the request has the same call id. */
  readonly repeatedIn?: string
}

/** One message of a model request; a tool message has exactly one result. */
export type RequestMessage =
  | { readonly role: 'user'; readonly parts: readonly (RequestText | RequestMedia)[] }
  | { readonly role: 'assistant'; readonly parts: readonly (RequestText | RequestReasoning | RequestToolCall)[] }
  | {
      readonly role: 'tool'
      readonly toolCallId: string
      readonly toolName: string
      readonly isError: boolean
      readonly parts: readonly (RequestText | RequestMedia)[]
    }

export interface ToolDeclaration {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export interface ModelRequest {
  readonly instructions?: string
  readonly messages: readonly RequestMessage[]
  readonly tools: readonly ToolDeclaration[]
  /**
   * `none`: no tool may be called. The tools are declared nevertheless: without them, the provider rejects the calls of
   * the history.
   */
  readonly toolChoice: 'auto' | 'required' | 'none' | { readonly name: string }
  readonly options: ModelOptions
  /** The format of a completion without calls. */
  readonly responseFormat?: JsonFormat
  /** Set after the provider rejected the format: only the instructions then describe it. */
  readonly describesFormat?: true
  /** Set after the provider rejected the usual names: tools and calls then get names in the narrowest form. */
  readonly narrowNames?: true
}
