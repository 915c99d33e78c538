import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { withoutAliases } from './aliases.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const SYNTH_MS = 300_000

/**
 * Context values of the synthesis. The infrastructure tests check the house rules, so a broken rule does not fail the synthesis.
 * No person receives the alarms of this address.
 */
const GIVEN = { '@aws-cdk/core:failSynthOnValidationErrors': false, alarmEmail: 'oncall@example.com' }

const Resource = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  Condition: z.string().optional(),
})
const Template = z.object({
  Resources: z.record(z.string(), Resource),
  Outputs: z.record(z.string(), z.object({ Value: z.unknown(), Export: z.unknown().optional() })).default({}),
  Parameters: z.record(z.string(), z.object({ Default: z.string().optional() })).default({}),
  Mappings: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.unknown()))).default({}),
  Conditions: z.record(z.string(), z.unknown()).default({}),
})
const Manifest = z.object({
  artifacts: z.record(
    z.string(),
    z.object({
      type: z.string(),
      properties: z.object({ templateFile: z.string().optional(), stackName: z.string().optional() }).optional(),
    }),
  ),
})
const Assets = z.object({ files: z.record(z.string(), z.object({ source: z.object({ path: z.string() }) })) })

export type Resource = z.output<typeof Resource>
export type Template = z.output<typeof Template>

/** Output of the synthesis: one template per stack, and the files that templates name. */
export interface Assembly {
  readonly stacks: ReadonlyMap<string, Template>
  /** The folder that is uploaded under this key. */
  asset(key: string): string
  remove(): Promise<void>
}

/** Synthesises an environment as `cdk synth` does: the app of cdk.json with its context, and the bundles. */
export async function synthesise(environment: string): Promise<Assembly> {
  const settings = z
    .object({ app: z.string(), context: z.record(z.string(), z.unknown()) })
    .parse(JSON.parse(await readFile(join(ROOT, 'cdk.json'), 'utf8')))
  const folder = await mkdtemp(join(tmpdir(), 'tooltrail-synth-'))
  await promisify(execFile)('sh', ['-c', settings.app], {
    cwd: ROOT,
    timeout: SYNTH_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: {
      ...process.env,
      PATH: `${join(ROOT, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}`,
      CDK_OUTDIR: folder,
      CDK_VALIDATION: 'false',
      CDK_CONTEXT_JSON: JSON.stringify({ ...settings.context, ...GIVEN, env: environment }),
    },
  })
  return readAssembly(folder)
}

/** Reads the output of a synthesis in `folder`. */
async function readAssembly(folder: string): Promise<Assembly> {
  const read = async (file: string): Promise<unknown> => JSON.parse(await readFile(join(folder, file), 'utf8'))
  const readTemplate = async (file: string): Promise<Template> =>
    Template.parse(withoutAliases((await read(file)) as Parameters<typeof withoutAliases>[0]))
  const { artifacts } = Manifest.parse(await read('manifest.json'))
  const stacks = new Map<string, Template>()
  for (const [id, { type, properties }] of Object.entries(artifacts)) {
    if (type !== 'aws:cloudformation:stack' || properties?.templateFile === undefined) continue
    stacks.set(properties.stackName ?? id, await readTemplate(properties.templateFile))
  }
  const paths = new Map<string, string>()
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.assets.json'))) {
    const { files } = Assets.parse(await read(file))
    for (const [hash, { source }] of Object.entries(files)) paths.set(hash, join(folder, source.path))
  }
  return {
    stacks,
    asset(key) {
      const path = paths.get(key.replace(/\.zip$/, ''))
      if (path === undefined) throw new Error(`the assembly has no asset ${key}`)
      return path
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
