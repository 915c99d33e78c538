import { sessionPortsContract } from '../../contracts/session-ports.ts'
import { sqliteEngine } from './engine.ts'

sessionPortsContract(sqliteEngine)
