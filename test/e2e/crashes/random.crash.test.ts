import { localBackend } from '../backend/local-backend.ts'
import { isWhole } from '../../whole.ts'
import { randomKillsOn } from './random-kills.ts'

randomKillsOn(localBackend, isWhole ? 200 : 6)
