import { runProgram } from '../runtime/local/run.ts'

await runProgram()
