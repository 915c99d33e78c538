import { join } from 'node:path'

/** `tooltrail` is the clone that contains this folder. In an app of your own, this file needs no settings. */
const root = join(import.meta.dirname, '../..')

export default { outputFileTracingRoot: root, turbopack: { root }, reactStrictMode: true }
