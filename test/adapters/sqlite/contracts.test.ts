/* Evidence, durability: A run ends whatever its session has stored, such as 7,000 numbered results. */
import { sessionPortsContract } from '../../contracts/session-ports.ts'
import { sqliteEngine } from './engine.ts'

sessionPortsContract(sqliteEngine)
