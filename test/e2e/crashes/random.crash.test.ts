import { localBackend } from '../local-backend.ts'
import { randomKillsOn } from './random-kills.ts'

/** In CI the other suites need the machine as well. */
randomKillsOn(localBackend, process.env['CI'] === 'true' ? 40 : 200)
