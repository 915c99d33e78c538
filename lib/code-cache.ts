import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { arch, platform } from 'node:process'
import { EAGER_FILE } from './eager-file.ts'
import { startBundle } from './try-bundle.ts'

/** Whether code caches of this machine fit the functions: Lambda runs them on Linux with arm64. */
export const CACHE_FITS_LAMBDA = platform === 'linux' && arch === 'arm64'

/** Folder of the code cache in the bundle. */
export const CACHE_FOLDER = 'cache'
/** Folder of the links to the code cache, relative to the bundle: `/tmp/code-cache` beside `/var/task`. */
const LINK_FOLDER = '../../tmp/code-cache'

/**
 * Adds V8's code cache of the eager file to a bundle, so that a cold start compiles less. The bundle is started once,
 * because the cache contains the functions that have been called. Throws the error of a bundle that does not start.
 */
export function addCodeCache(folder: string, allowedHosts: readonly string[] = []): void {
  const root = mkdtempSync(join(tmpdir(), 'tooltrail-code-cache-'))
  try {
    // Node finds an entry by the path from the cache to the module. So the cache and the module have the same paths below
    // `root` as on Lambda.
    const task = join(root, 'var/task')
    cpSync(folder, task, { recursive: true })
    const made = join(root, 'tmp/code-cache')
    startBundle(task, { allowedHosts, entry: EAGER_FILE, cache: made })
    const [name = ''] = readdirSync(made)
    // The name ends with the user id, which differs on Lambda.
    const version = name.replace(/-\d+$/, '')
    mkdirSync(join(folder, CACHE_FOLDER, version), { recursive: true })
    // Node writes entries that only their owner can read. A copy of the content can be read by the functions.
    for (const file of readdirSync(join(made, name)))
      writeFileSync(join(folder, CACHE_FOLDER, version, file), readFileSync(join(made, name, file)))
    writeFileSync(join(folder, 'index.mjs'), cachedEntry(version))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/**
 * Returns the code of an entry that enables the code cache and loads the eager file. Node looks for the cache in a
 * folder named after its version and the user, and must be able to create this folder. The bundle's folder is read-only
 * and the user is unknown, so a link with the expected name is created. Without a usable cache, Node compiles the code.
 */
const cachedEntry = (version: string): string => `import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
const version = ${JSON.stringify(version)}
if (version.startsWith(process.version + '-' + process.arch + '-'))
  try {
    const directory = join(import.meta.dirname, '${LINK_FOLDER}')
    if (!existsSync(directory)) {
      mkdirSync(directory)
      symlinkSync(join(import.meta.dirname, '${CACHE_FOLDER}', version), join(directory, version + '-' + process.getuid()))
    }
    enableCompileCache({ directory, portable: true })
  } catch {
    // Code caches are optional.
  }
export const { handler } = await import('./${EAGER_FILE}')
`
