import { App } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import type { Stack } from 'aws-cdk-lib'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createStacks } from '../../lib/create-stacks.ts'
import { readEnvironment } from '../../lib/environments.ts'
import type { Environment, EnvironmentSettings } from '../../lib/environments.ts'

// CDK's own checks are off by default, because the suites in this folder check the templates. `test/lib/cfn-lint.sh` enables
// CDK's checks.
process.env['CDK_VALIDATION'] ??= 'false'
const strict = process.env['CDK_VALIDATION'] !== 'false'

const { context } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../../cdk.json'), 'utf8')) as {
  context: Record<string, unknown>
}

/** An app with the flags of `cdk.json` that bundles no code. */
export const createApp = (): App =>
  new App({
    context: { ...context, 'aws:cdk:bundling-stacks': [], '@aws-cdk/core:failSynthOnValidationErrors': strict },
  })

export interface Resource {
  readonly Type: string
  readonly Properties: Readonly<Record<string, unknown>>
  readonly UpdatePolicy?: Readonly<Record<string, unknown>>
  readonly DeletionPolicy?: string
  readonly DependsOn?: readonly string[]
}

export interface Synthesised {
  readonly data: Template
  readonly search: Template
  readonly app: Template
  readonly monitoring: Template
  /** Resources of all four templates, by `stack/logical id`. */
  readonly resources: Readonly<Record<string, Resource>>
}

export const STACKS = ['data', 'search', 'app', 'monitoring'] as const

/** The templates of an environment. */
export function synthesise(environment: Environment): Synthesised {
  const stacks = createStacks(createApp(), environment)
  const templates = Object.fromEntries(STACKS.map((name) => [name, templateOf(stacks[name])])) as Record<
    (typeof STACKS)[number],
    Template
  >
  const resources = STACKS.flatMap((stack) =>
    Object.entries((templates[stack].toJSON() as { Resources: Record<string, Resource> }).Resources).map(
      ([id, resource]) => [`${stack}/${id}`, resource] as const,
    ),
  )
  return { ...templates, resources: Object.fromEntries(resources) }
}

const templateOf = (stack: Stack): Template => Template.fromStack(stack)

/** Receiver of alarms in tests. */
const ALARM_EMAIL = 'oncall@example.com'

/** Returns one of the defined environments, with an address for its alarms. */
export const environmentNamed = (name: string): Environment => readEnvironment(name, { alarmEmail: ALARM_EMAIL })

/** Returns an environment with these settings and an address for its alarms. */
export const environmentOf = (settings: EnvironmentSettings, name = 'own'): Environment =>
  readEnvironment(name, {}, { [name]: { alarmEmail: ALARM_EMAIL, ...settings } })

/** Resources of a type, by `stack/logical id`. */
export const ofType = ({ resources }: Synthesised, type: string): [string, Resource][] =>
  Object.entries(resources).filter(([, resource]) => resource.Type === type)

/** Expects a resource of this type with at least these properties. */
export const expectResource = (template: Template, type: string, properties: object): void =>
  template.hasResourceProperties(type, properties)
