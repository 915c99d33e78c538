import { argv, stderr } from 'node:process'
import { bundleHandler, type BundleOptions, type Handler } from './bundle.ts'
import { addCodeCache, CACHE_FITS_LAMBDA } from './code-cache.ts'
import { startBundle } from './try-bundle.ts'

/**
 * Bundling runs in a separate program, because constructs cannot await. Arguments: handler, folder, options as JSON.
 */
const [handler, folder, json] = argv.slice(2) as [Handler, string, string]
try {
  const options = JSON.parse(json) as BundleOptions
  await bundleHandler(handler, folder, options)
  // Only the worker's bundle is started for a test. No other start is needed, because this bundle has all custom agents
  // and tools.
  const { allowedHosts = [] } = options
  if (handler === 'worker') startBundle(folder, { allowedHosts })
  if (CACHE_FITS_LAMBDA) addCodeCache(folder, allowedHosts)
} catch (error) {
  stderr.write(`${handler}: ${(error as Error).message}\n`)
  process.exitCode = 1
}
