import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv } from 'node:process'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * `npm pack` runs this program before packing and, with `clean`, after it. The package contains JavaScript, because
 * Node does not run TypeScript in `node_modules`. While `npm pack` runs, each compiled file is next to its source.
 */
if (argv[2] === 'clean')
  for (const source of globSync('functions/**/*.ts', { cwd: ROOT }))
    rmSync(join(ROOT, source.replace(/ts$/, 'js')), { force: true })
else {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-package-'))
  try {
    const argv = ['--project', 'build/program.tsconfig.json', '--outDir', folder]
    execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...argv], {
      cwd: ROOT,
      stdio: 'inherit',
    })
    cpSync(join(folder, 'functions'), join(ROOT, 'functions'), { recursive: true })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
