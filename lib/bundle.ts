import { build } from 'esbuild'
import type { Metafile, Plugin } from 'esbuild'
import { cpSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BANNER, EAGER_FILE, joinEagerChunks } from './eager-file.ts'

export type Handler = 'api' | 'worker' | 'indexer' | 'sweeper'

export interface BundleOptions {
  /** Path of a module that exports `tools`. It replaces the empty list of `functions/runtime/custom-tools.ts`. */
  readonly toolsFile?: string
  /** Contents of the `agents.json` that is shipped beside the code. */
  readonly agents?: string
  /** Allowed hosts of the functions, for the test start of the bundle. */
  readonly allowedHosts?: readonly string[]
}

/** The sizes of a bundle. */
export interface Bundle {
  /** Minified bytes that are loaded before the first request. */
  readonly eagerBytes: number
  /** Folders of `node_modules` from which something is loaded before the first request. */
  readonly eagerPackages: readonly string[]
}

const ROOT = resolve(import.meta.dirname, '..')
const ENTRY = 'index.mjs'

/** Returns the file of the handler's code. */
export const handlerFile = (handler: Handler): string => join(ROOT, 'functions/handlers', `${handler}.ts`)

/**
 * Bundles a handler into a folder that Lambda runs as `index.handler`. The bundle has one module for the start, and one
 * for each part that is loaded on demand, such as a model provider. Bundling needs neither network nor Docker.
 */
export async function bundleHandler(
  handler: Handler,
  folder: string,
  { toolsFile, agents }: BundleOptions = {},
): Promise<Bundle> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: { index: handlerFile(handler) },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[name]-[hash]',
    banner: { js: BANNER },
    minify: true,
    metafile: true,
    legalComments: 'none',
    logLevel: 'error',
    plugins: [oneLocale, ...(toolsFile === undefined ? [] : [shipTools(resolve(toolsFile))])],
  })
  if (agents !== undefined) writeFileSync(join(folder, 'agents.json'), agents)
  if (handler === 'api') {
    for (const file of ['page.css', 'browser.js'])
      cpSync(join(ROOT, 'functions/http/docs', file), join(folder, 'docs', file))
    cpSync(join(ROOT, 'built/page'), join(folder, 'page'), { recursive: true })
  }
  const { outputs } = metafile
  const entry = entryOf(outputs, folder)
  const eager = eagerChunks(outputs, entry)
  await joinEagerChunks({ folder, root: ROOT, outputs, entry, eager })
  writeFileSync(join(folder, ENTRY), `export{handler}from'./${EAGER_FILE}'\n`)
  return {
    eagerBytes: statSync(join(folder, EAGER_FILE)).size,
    eagerPackages: packagesOf([...eager].flatMap((path) => outputs[path] ?? [])),
  }
}

/** Removes zod's messages in about 50 languages. They would be a third of a function's code, and are never shown. */
const oneLocale: Plugin = {
  name: 'one-locale',
  setup({ onLoad }) {
    onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({ contents: `export { default as en } from './en.js'` }))
  },
}

const shipTools = (toolsFile: string): Plugin => ({
  name: 'ship-tools',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/custom-tools\.ts$/ }, ({ importer }) =>
      importer === join(ROOT, 'functions/runtime/built-in-tools.ts') ? { path: toolsFile } : undefined,
    )
  },
})

type Outputs = Metafile['outputs']

/** Returns the path of the entry, as the metafile names it. */
function entryOf(outputs: Outputs, folder: string): string {
  const entry = Object.keys(outputs).find((path) => resolve(ROOT, path) === resolve(folder, ENTRY))
  if (entry === undefined) throw new Error(`esbuild wrote no ${ENTRY}`)
  return entry
}

/** Returns the paths of the entry and of all chunks that static imports load from it. */
function eagerChunks(outputs: Outputs, entry: string): ReadonlySet<string> {
  const eager = new Set([entry])
  for (const path of eager)
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (kind === 'import-statement' && outputs[next] !== undefined) eager.add(next)
  return eager
}

/** Returns the folders of `node_modules` whose code is in the outputs. */
function packagesOf(outputs: readonly Outputs[string][]): readonly string[] {
  const packages = outputs.flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => {
      const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]
      return name === undefined || bytesInOutput === 0 ? [] : [name]
    }),
  )
  return [...new Set(packages)].toSorted()
}
