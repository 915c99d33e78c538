import { localBackend } from '../local-backend.ts'
import { randomKillsOn } from './random-kills.ts'

randomKillsOn(localBackend, 200)
