import { argv } from 'node:process'
import { bundleHandler, type BundleOptions, type Handler } from './bundle.ts'

/** Constructs cannot wait: they run this as a program of its own. Arguments: handler, folder, options as JSON. */
const [handler, folder, options] = argv.slice(2) as [Handler, string, string]
await bundleHandler(handler, folder, JSON.parse(options) as BundleOptions)
