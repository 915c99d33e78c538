import type { Model, Models } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import type { FetchFunction, ModelSettings } from './model-settings.ts'

interface Dependencies {
  readonly settings: ModelSettings
  /** Left out: the global one. */
  readonly fetch?: FetchFunction
}

type Opener = (modelId: string, { settings, fetch }: Dependencies) => Promise<Model>

const NAMES = 'anthropic/<model>, openai/<model>, bedrock/<model>, openai-compatible/<model> or demo/demo'

/** Providers by name. Their packages are large and loaded only when one of their models is opened. */
const OPENERS: { readonly [provider: string]: Opener } = {
  anthropic: async (modelId, { settings, fetch }) => {
    const known = settings.anthropic ?? missing('anthropic', 'set ANTHROPIC_API_KEY')
    return (await import('./anthropic.ts')).openAnthropic(modelId, known, fetch)
  },
  openai: async (modelId, { settings, fetch }) => {
    const known = settings.openai ?? missing('openai', 'set OPENAI_API_KEY')
    return (await import('./openai.ts')).openOpenAi(modelId, known, fetch)
  },
  bedrock: async (modelId, { settings, fetch }) => {
    const known =
      settings.bedrock ?? missing('bedrock', 'set AWS_REGION and AWS credentials, or AWS_BEARER_TOKEN_BEDROCK')
    return (await import('./bedrock.ts')).openBedrock(modelId, known, fetch)
  },
  'openai-compatible': async (modelId, { settings, fetch }) => {
    const known = settings.server ?? missing('openai-compatible', 'set MODEL_BASE_URL')
    return (await import('./openai-compatible.ts')).openCompatible(modelId, known, fetch)
  },
  demo: async () => (await import('./demo.ts')).createDemoModel(),
}

/**
 * Models by `provider/model`. With an OpenAI-compatible server configured, a name without a provider of ours is that server's
 * model name.
 */
export function createModels({ settings, fetch }: Dependencies): Models {
  const opened = new Map<string, Promise<Model>>()

  async function open(name: string): Promise<Model> {
    const [provider, modelId] = split(name, settings)
    const opener = OPENERS[provider]
    if (opener === undefined || modelId === '') {
      throw new ModelError('invalid_request', `${JSON.stringify(name)} names no model: use ${NAMES}`, {
        retryable: false,
      })
    }
    return opener(modelId, fetch === undefined ? { settings } : { settings, fetch })
  }

  return {
    async open(name) {
      const known = opened.get(name) ?? open(name)
      opened.set(name, known)
      return known.catch((error: unknown) => {
        opened.delete(name)
        throw error
      })
    },
  }
}

function split(name: string, settings: ModelSettings): [provider: string, modelId: string] {
  const slash = name.indexOf('/')
  const provider = slash === -1 ? '' : name.slice(0, slash)
  if (provider === 'amazon-bedrock') return ['bedrock', name.slice(slash + 1)]
  if (Object.hasOwn(OPENERS, provider)) return [provider, name.slice(slash + 1)]
  return settings.server === undefined ? ['', name] : ['openai-compatible', name]
}

function missing(provider: string, advice: string): never {
  throw new ModelError('authentication', `no credentials for ${provider} models: ${advice}`, { retryable: false })
}
