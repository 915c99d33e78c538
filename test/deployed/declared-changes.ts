import type { Assembly, Resource, Template } from './cloud/template/assembly.ts'

/** A difference between the suite and the templates, with its reason. Everything else runs as synthesised. */
interface Change {
  readonly resource: RegExp
  readonly type: string
  readonly why: string
  readonly apply: (properties: Resource['Properties']) => Resource['Properties']
}

/** A worker's time limit, and the remaining time at which it hands off its run, in seconds. Template: 15 and 5 min. */
export const WORKER_SECONDS = 30
export const STOP_MARGIN_SECONDS = 22
/** Attempts for a batch of the stream. The template has 1,000. */
export const STREAM_ATTEMPTS = 3
/** Seconds after which a failed hint is retried. The template has 16 minutes, too long for a test. */
export const RETRY_SECONDS = 0

const variables = (
  properties: Resource['Properties'],
  more: Readonly<Record<string, string>>,
): Resource['Properties'] => {
  const environment = properties['Environment'] as { readonly Variables: object }
  return { ...properties, Environment: { Variables: { ...environment.Variables, ...more } } }
}
const MODEL = { MODEL: 'openai-compatible/scripted' }

/**
 * Returns the declared changes. `channels`: variables with the addresses of this suite's Slack, receivers and agents' file.
 */
const changesWith = (channels: Readonly<Record<string, string>>): readonly Change[] => [
  {
    resource: /^TooltrailApi[0-9A-F]{8}$/,
    type: 'AWS::Lambda::Function',
    why: 'a model behind HTTP, whose address and key stand in the secret, in place of the built-in one, which needs neither; agents with channels, to a Slack and a receiver on this machine',
    apply: (properties) => variables(properties, { ...MODEL, ...channels }),
  },
  {
    resource: /^TooltrailWorker[0-9A-F]{8}$/,
    type: 'AWS::Lambda::Function',
    why: 'the same model and channels; and nobody waits for ten minutes until a run is handed on',
    apply: (properties) => ({
      ...variables(properties, {
        ...MODEL,
        ...channels,
        TOOLTRAIL_STOP_MARGIN_SECONDS: String(STOP_MARGIN_SECONDS),
      }),
      Timeout: WORKER_SECONDS,
    }),
  },
  {
    resource: /^TooltrailStreamMapping/,
    type: 'AWS::Lambda::EventSourceMapping',
    why: 'nobody waits for 1,000 attempts at a record that cannot be read',
    apply: (properties) => ({ ...properties, MaximumRetryAttempts: STREAM_ATTEMPTS - 1 }),
  },
]

/** The assembly with the declared changes. Throws if a declared change has no effect. */
export function withDeclaredChanges(assembly: Assembly, channels: Readonly<Record<string, string>>): Assembly {
  const changes = changesWith(channels)
  const changed = new Set<Change>()
  const stacks = [...assembly.stacks].map(([name, template]): [string, Template] => {
    const resources = Object.entries(template.Resources).map(([id, resource]): [string, Resource] => {
      const change = changes.find((one) => one.type === resource.Type && one.resource.test(id))
      if (change === undefined) return [id, resource]
      changed.add(change)
      return [id, { ...resource, Properties: change.apply(resource.Properties) }]
    })
    return [name, { ...template, Resources: Object.fromEntries(resources) }]
  })
  const stale = changes.find((change) => !changed.has(change))
  if (stale !== undefined) throw new Error(`nothing in the templates is ${String(stale.resource)}`)
  return { ...assembly, stacks: new Map(stacks) }
}
