import { resolve } from 'node:path'
import { build } from 'vite'

const ROOT = resolve(import.meta.dirname, '..')

/** Builds the page: `index.html`, its script and its style. The names of script and style change with their content. */
export async function buildPage(folder: string): Promise<void> {
  await build({
    configFile: false,
    envFile: false,
    root: resolve(ROOT, 'page'),
    base: './',
    logLevel: 'error',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: { outDir: folder, emptyOutDir: true, target: 'es2023', modulePreload: false, assetsInlineLimit: 0 },
  })
}
