/* Evidence, durability: Every run can end, even if its session stores very much, such as 7,000 numbered results. */
import { sessionPortsContract } from '../../contracts/session-ports.ts'
import { sqliteEngine } from './engine.ts'

sessionPortsContract(sqliteEngine)
