import { definedFields } from '../../../domain/defined-fields.ts'
import { MISUSED } from '../../../runtime/command.ts'
import { openPorts } from '../../../runtime/local/open-ports.ts'
import { readAgentNames } from '../../../runtime/settings/agents-file.ts'
import { readOperationSettings, readSettings } from '../../../runtime/settings/config.ts'
import { Failed } from '../../input.ts'
import { note, print } from '../../terminal.ts'
import type { KeyDependencies, Printed } from './key-command.ts'
import { KeyCommandError } from './key-options.ts'

/**
 * Runs a command with the keys of an environment, and prints the command's output. Without an environment, the command
 * gets the keys of this machine.
 */
export async function withKeys(
  environment: string | undefined,
  work: (dependencies: KeyDependencies) => Promise<Required<Printed>>,
): Promise<void> {
  const ports =
    environment === undefined
      ? await openPorts(readSettings())
      : await (await import('../../../runtime/aws/operations.ts')).openOperations(environment, readOperationSettings())
  // The agents' names are not read for a deployed environment: its agents may differ from those in the local file.
  const declared = environment === undefined ? () => readAgentNames(readSettings().agentsFile) : undefined
  try {
    const printed = await work({ keys: ports.keys, clock: ports.clock, ...definedFields({ declared }) })
    note(printed.note)
    print(printed.output)
  } catch (error) {
    if (!(error instanceof KeyCommandError)) throw error
    throw new Failed(`${error.message.replace(/\.?$/, '.')} Run with --help to see what there is.`, MISUSED)
  } finally {
    await ports.close()
  }
}
