import type { Model } from '../../../functions/ports/model.ts'
import { createModels } from '../../../functions/adapters/models/models.ts'
import type { ModelSettings } from '../../../functions/adapters/models/model-settings.ts'
import { anthropicFrames } from '../../model-server/anthropic-frames.ts'
import { bedrockFrames } from '../../model-server/bedrock-frames.ts'
import { chatFrames } from '../../model-server/chat-frames.ts'
import { responsesFrames } from '../../model-server/responses-frames.ts'
import type { RecordingServer } from '../../model-server/recording-server.ts'
import type { ScriptedCompletion } from '../../model-server/scripted-completion.ts'

/** A provider's real package and the real format of its streams, for tests of its HTTP traffic. */
export interface Provider {
  readonly name: string
  readonly model: string
  readonly contentType: string
  /** `model`: the provider's name of the model. Bedrock's frames contain no name. */
  frames(completion: ScriptedCompletion, model?: string): readonly (string | Uint8Array)[]
  settings(url: string): ModelSettings
  /**
   * Number of frames at the end that contain only usage numbers. A stream that ends before these frames still has a
   * complete completion.
   */
  readonly tail: number
}

export const PROVIDERS: readonly Provider[] = [
  {
    name: 'openai-compatible',
    model: 'openai-compatible/scripted',
    contentType: 'text/event-stream',
    frames: chatFrames,
    settings: (url) => ({ server: { baseUrl: `${url}/v1`, apiKey: 'key' } }),
    tail: 2,
  },
  {
    name: 'openai',
    model: 'openai/gpt-5-scripted',
    contentType: 'text/event-stream',
    frames: responsesFrames,
    settings: (url) => ({ openai: { apiKey: 'key', baseUrl: `${url}/v1` } }),
    tail: 0,
  },
  {
    name: 'anthropic',
    model: 'anthropic/claude-scripted',
    contentType: 'text/event-stream',
    frames: anthropicFrames,
    settings: (url) => ({ anthropic: { apiKey: 'key', baseUrl: `${url}/v1` } }),
    tail: 0,
  },
  {
    name: 'bedrock',
    model: 'bedrock/anthropic.claude-scripted-v1:0',
    contentType: 'application/vnd.amazon.eventstream',
    frames: bedrockFrames,
    settings: (url) => ({
      bedrock: {
        region: 'eu-west-1',
        baseUrl: url,
        credentials: async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'token' }),
      },
    }),
    tail: 1,
  },
]

/** Wire format of each provider, by the provider's name. */
export const WIRES: { readonly [provider: string]: string } = {
  'openai-compatible': 'chat',
  openai: 'responses',
  anthropic: 'messages',
  bedrock: 'bedrock',
}

export function openModel(provider: Provider, server: RecordingServer): Promise<Model> {
  return createModels({ settings: provider.settings(server.url) }).open(provider.model)
}
