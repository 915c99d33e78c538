import { readSweeperSettings } from '../runtime/settings/function-settings.ts'
import { createSweeperHandler } from '../runtime/lambda/sweeper.ts'

/** Lambda, on a schedule: finds the work of dead processes, and work whose hint was lost. */
export const handler = createSweeperHandler(readSweeperSettings())
