import { existsSync, readFileSync } from 'node:fs'
import * as module from 'node:module'

// Runs before every npm script. It is plain JavaScript, because it must also run if no package is installed or Node is
// too old.
const require = module.createRequire(import.meta.url)
const { dependencies = {} } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const missing = Object.keys(dependencies).find(
  (name) => !require.resolve.paths(name).some((folder) => existsSync(`${folder}/${name}/package.json`)),
)
if (missing !== undefined) {
  console.error(`Packages that Tooltrail needs are not installed, such as ${missing}. Run: npm ci`)
  process.exit(1)
}
const [major, minor] = process.versions.node.split('.').map(Number)
// In versions before 24.7, `node:sqlite` fails with "column index out of range".
if (major < 24 || (major === 24 && minor < 7)) {
  console.error(
    `Tooltrail runs on Node 24.7 or newer, but this is ${process.version}: the pinned Node was not installed, because optional ` +
      `packages or install scripts are left out, or there is none for ${process.platform} on ${process.arch}. ` +
      'Run: npm ci --include=optional --ignore-scripts=false, or install Node 24.7 or newer',
  )
  process.exit(1)
}
// Stores the compiled code. Later starts reuse it, and take about half the time.
module.enableCompileCache()
