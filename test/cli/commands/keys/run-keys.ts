import { addKeyCommands } from '../../../../functions/cli/commands/keys/key-commands.ts'
import type { KeyDependencies, Printed } from '../../../../functions/cli/commands/keys/key-command.ts'
import { createProgram } from '../../../../functions/cli/global-options.ts'

/** Runs `tooltrail keys` with these arguments. Returns the text to print, or rejects with the error to report. */
export async function runKeys(dependencies: KeyDependencies, argv: readonly string[]): Promise<Printed> {
  let printed: Printed | undefined
  const program = createProgram()
    .exitOverride((error) => {
      throw error
    })
    .configureOutput({ writeOut: () => undefined, writeErr: () => undefined })
  addKeyCommands({
    program,
    withKeys: async (_environment, work) => {
      printed = await work(dependencies)
    },
  })
  await program.parseAsync(['keys', ...argv], { from: 'user' })
  if (printed === undefined) throw new Error('the command printed nothing')
  return printed
}
