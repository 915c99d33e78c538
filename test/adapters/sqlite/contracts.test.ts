/* Evidence, durability: Every run can end, even if its session stores very much, such as 7,000 numbered results. */
/* Evidence, durability: A repeated operation of the log has one effect, in whatever order its attempts land. */
import { sessionPortsContract } from '../../contracts/session-ports.ts'
import { sqliteEngine } from './engine.ts'

sessionPortsContract(sqliteEngine)
