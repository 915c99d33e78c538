import * as module from 'node:module'

// Plain JavaScript: it must run where the pinned Node is missing. Preloaded by `npm start`, and run before `npm test`.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(
    `Tooltrail runs on Node 24 or newer, but this is ${process.version}: the pinned Node was not installed, because optional ` +
      `packages or install scripts are left out, or there is none for ${process.platform} on ${process.arch}. ` +
      'Run: npm ci --include=optional --ignore-scripts=false, or install Node 24',
  )
  process.exit(1)
}
// Later starts find the program's code compiled and take about half the time.
module.enableCompileCache()
