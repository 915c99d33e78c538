import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ModelRequest } from '../../domain/model-request.ts'
import { argumentsOf } from './raw-arguments.ts'

/** The part of a package's model that is used. */
export type StreamingModel = Pick<LanguageModelV4, 'doStream'>

/** The raw arguments of the calls in a model's current request, in the order in which they are sent. */
export interface RawArguments {
  current: readonly string[]
}

interface PooledModel {
  readonly raw: RawArguments
  readonly model: StreamingModel
}

/** Maximum number of models kept for later requests. Beyond this number, a model is created for only one request. */
const MAX_IDLE_MODELS = 32

/**
 * Returns a function that gives each request a model of the package. The model is either new (made by `create`) or was
 * used by an earlier request. The packages build their schemas for each new model, which takes a fifth of the time of a
 * turn. A model serves one request at a time, because the hook that sets the raw arguments belongs to the model. As
 * soon as a model has sent its request, it can serve the next one.
 */
export function poolModels(create: (raw: RawArguments) => StreamingModel): (request: ModelRequest) => StreamingModel {
  const idle: PooledModel[] = []
  return (request) => ({
    async doStream(options) {
      const pooled = idle.pop() ?? newModel(create)
      pooled.raw.current = argumentsOf(request)
      try {
        return await pooled.model.doStream(options)
      } finally {
        pooled.raw.current = []
        if (idle.length < MAX_IDLE_MODELS) idle.push(pooled)
      }
    },
  })
}

function newModel(create: (raw: RawArguments) => StreamingModel): PooledModel {
  const raw: RawArguments = { current: [] }
  return { raw, model: create(raw) }
}
