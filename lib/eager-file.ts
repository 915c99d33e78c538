import { build } from 'esbuild'
import type { Metafile, Plugin } from 'esbuild'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** File with all code that is loaded before the first request. */
export const EAGER_FILE = 'main.mjs'

/** Defines `require`, because bundled CommonJS packages call it for Node's own modules. */
export const BANNER = `import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);`

type Outputs = Metafile['outputs']

interface EagerChunks {
  /** Folder of the bundle. */
  readonly folder: string
  /** Folder that the paths of `outputs` are relative to. */
  readonly root: string
  readonly outputs: Outputs
  /** Path of the entry, as `outputs` names it. */
  readonly entry: string
  /** Paths of the entry and of all chunks that static imports load from it. */
  readonly eager: ReadonlySet<string>
}

/**
 * Joins the entry of a split bundle with all chunks that its static imports load. esbuild makes a chunk of all
 * code that a lazy and an eager module share. Each file costs time at a cold start. Chunks that lazy modules import become
 * files that re-export from the joined file, so that each module still exists once in the process.
 */
export async function joinEagerChunks(chunks: EagerChunks): Promise<void> {
  const { folder, root, entry, eager } = chunks
  const shared = sharedChunks(chunks)
  const source = (path: string): string => `./${relative(folder, resolve(root, path))}`
  const exports = [...shared].map(
    ([path, names]) =>
      `export {${[...names].map(([name, alias]) => `${name} as ${alias}`).join()}} from '${source(path)}'`,
  )
  const { outputFiles } = await build({
    stdin: { contents: [`export * from '${source(entry)}'`, ...exports].join('\n'), resolveDir: folder },
    outfile: join(folder, EAGER_FILE),
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    banner: { js: BANNER },
    minify: true,
    legalComments: 'none',
    logLevel: 'error',
    plugins: [chunkLoader(folder)],
  })
  for (const path of eager) rmSync(resolve(root, path))
  for (const file of outputFiles) writeFileSync(file.path, file.contents)
  for (const [path, names] of shared) {
    const file = resolve(root, path)
    const list = [...names].map(([name, alias]) => `${alias} as ${name}`)
    writeFileSync(file, `export{${list.join()}}from'${relative(dirname(file), join(folder, EAGER_FILE))}';`)
  }
}

/** Returns the eager chunks that lazy modules import, with the alias of each export in the joined file. */
function sharedChunks({ outputs, eager }: EagerChunks): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const imported = new Set(
    Object.entries(outputs).flatMap(([path, { imports }]) =>
      eager.has(path) ? [] : imports.flatMap((one) => (eager.has(one.path) ? [one.path] : [])),
    ),
  )
  for (const path of eager)
    for (const one of outputs[path]?.imports ?? [])
      if (one.kind === 'dynamic-import' && eager.has(one.path)) imported.add(one.path)
  return new Map(
    [...imported].map((path, chunk) => [
      path,
      new Map((outputs[path]?.exports ?? []).map((name, index) => [name, `shared${chunk}_${index}`])),
    ]),
  )
}

/** Loads chunks without their banner. Keeps dynamic imports, with paths relative to the folder of the joined file. */
const chunkLoader = (folder: string): Plugin => ({
  name: 'eager-chunks',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import'
        ? { path: `./${relative(folder, join(resolveDir, path))}`, external: true }
        : { path: join(resolveDir, path) },
    )
    onLoad({ filter: /\.mjs$/ }, ({ path }) => ({ contents: readFileSync(path, 'utf8').replace(BANNER, '') }))
  },
})
