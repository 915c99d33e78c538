import { localBackend } from '../backend/local-backend.ts'
import { isCi } from '../../is-ci.ts'
import { randomKillsOn } from './random-kills.ts'

randomKillsOn(localBackend, isCi ? 20 : 200)
