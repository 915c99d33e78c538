import type { Model, Models } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import type { FetchFunction, ModelSettings } from './model-settings.ts'
import { outputTokensFor } from './output-tokens.ts'

interface Dependencies {
  readonly settings: ModelSettings
  /** @default the global `fetch` */
  readonly fetch?: FetchFunction
}

/**
 * Returns a function that loads the provider's package and opens its model. Throws `ModelError` if a setting is
 * missing.
 */
type Opener = (modelId: string, dependencies: Dependencies) => () => Promise<Model>

const NAMES = 'anthropic/<model>, openai/<model>, bedrock/<model>, openai-compatible/<model> or demo/demo'

/** Providers by name. Their packages are large, so each is loaded when one of its models is opened. */
const OPENERS: { readonly [provider: string]: Opener } = {
  anthropic: (modelId, { settings, fetch }) => {
    const known = settings.anthropic ?? missing('anthropic', 'set ANTHROPIC_API_KEY')
    return async () => (await import('./anthropic.ts')).openAnthropic(modelId, known, fetch)
  },
  openai: (modelId, { settings, fetch }) => {
    const known = settings.openai ?? missing('openai', 'set OPENAI_API_KEY')
    return async () => (await import('./openai.ts')).openOpenAi(modelId, known, fetch)
  },
  bedrock: (modelId, { settings, fetch }) => {
    const known =
      settings.bedrock ?? missing('bedrock', 'set AWS_REGION, with AWS credentials or AWS_BEARER_TOKEN_BEDROCK')
    return async () => (await import('./bedrock.ts')).openBedrock(modelId, known, fetch)
  },
  'openai-compatible': (modelId, { settings, fetch }) => {
    const known = settings.server ?? missing('openai-compatible', 'set MODEL_BASE_URL')
    return async () => (await import('./openai-compatible.ts')).openCompatible(modelId, known, fetch)
  },
  demo: () => async () => (await import('./demo/demo.ts')).createDemoModel(),
}

/**
 * Opens models by `provider/model`. If an OpenAI-compatible server is configured, a name without a known provider is
 * one of its models.
 */
export function createModels({ settings, fetch = globalThis.fetch }: Dependencies): Models {
  // `bounded-fetch.ts` is loaded with the first request, because it depends on the providers' package.
  const bounded: FetchFunction = async (...request) =>
    (await import('./bounded-fetch.ts')).boundFetch(fetch)(...request)
  const dependencies = { settings, fetch: bounded }
  const opened = new Map<string, Promise<Model>>()

  return {
    async open(name) {
      const known = opened.get(name) ?? opener(name, dependencies)()
      opened.set(name, known)
      return known.catch((error: unknown) => {
        opened.delete(name)
        throw error
      })
    },
  }
}

/** Throws a `ModelError` if this model cannot be opened: its name is invalid, or a setting is missing. Loads nothing. */
export const checkModel = (name: string, settings: ModelSettings): void => void opener(name, { settings })

/**
 * Returns the output tokens to request from this model if its agent sets no limit; undefined for the model's own limit.
 */
export function outputTokensOf(name: string): number | undefined {
  const [provider, modelId] = split(name, { server: 'assumed' })
  return outputTokensFor(provider, modelId)
}

function opener(name: string, dependencies: Dependencies): () => Promise<Model> {
  const [provider, modelId] = split(name, dependencies.settings)
  const prepare = OPENERS[provider]
  if (prepare !== undefined && modelId !== '') return prepare(modelId, dependencies)
  throw new ModelError('invalid_request', `${JSON.stringify(name)} is not the name of a model: use ${NAMES}`, {
    retryable: false,
  })
}

function split(name: string, settings: { readonly server?: unknown }): [provider: string, modelId: string] {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? '' : name.slice(0, slash)
  if (provider === 'amazon-bedrock') return ['bedrock', name.slice(slash + 1)]
  if (Object.hasOwn(OPENERS, provider)) return [provider, name.slice(slash + 1)]
  return settings.server === undefined ? ['', name] : ['openai-compatible', name]
}

function missing(provider: string, advice: string): never {
  throw new ModelError('authentication', `no credentials for ${provider} models: ${advice}`, { retryable: false })
}
